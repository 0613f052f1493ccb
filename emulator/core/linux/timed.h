/* A run in time under one window: emulator/stepwise/timed.py and threads.py. */
#ifndef LX_TIMED_H
#define LX_TIMED_H

#include "kernel.h"

/* STEP of emulator/linux/steps.py. */
struct lx_step {
    double cpu_ns, sleep_ns;
    int64_t operation, waits_for, woken_by;
    uint64_t sector;
    uint32_t sectors, bios;
    uint16_t thread;
    uint8_t meta;
};

/* Of a step's ``meta``. */
enum { LX_META = 1, LX_ONCE = 2, LX_AHEAD = 4 };

/* The work of a step: requests, pages, sectors of compressed blocks. */
enum { LX_WORK = 3 };

/* Run, CpuCost and the work recorded (LX_WORK numbers by step), or NULL. */
struct lx_timed_run {
    const struct lx_step *steps;
    size_t n_steps;
    double tail_ns, cost_ns[LX_WORK];
    int64_t cpus, ends;
    const double *device; /* kind, numbers */
    size_t n_device;
    const int64_t *recorded;
};

/* Timed: ``ends_ns`` by thread, ``work`` and ``over_ns`` by step; ``over_ns`` may be NULL. */
struct lx_timed {
    double total_ns, compute_ns, waited_ns, behind_ns;
    double *ends_ns;
    size_t n_ends;
    int64_t *work;
    double *over_ns;
};

/* Replay a run under one window (pages). Negative: an error. */
LX_WARN_UNUSED int lx_replay(const struct lx_program *program, const struct lx_rules *rules,
                             const struct lx_machine *machine, const struct lx_timed_run *run,
                             int64_t window, struct lx_timed *result);

#endif
