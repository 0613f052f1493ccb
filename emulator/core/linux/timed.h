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
    uint32_t own_pages;
};

/* Of a step's ``meta``. */
enum { LX_META = 1, LX_ONCE = 2, LX_AHEAD = 4, LX_UNLIMITED = 8, LX_WRITE = 16 };

/* The work of a step: requests, pages, sectors of compressed blocks, which cost; and waits. */
enum { LX_COSTS = 3, LX_WAITS = LX_COSTS, LX_WORK };

/* REPEAT of emulator/linux/steps.py: a thread of a load, which repeats its steps. */
struct lx_repeat {
    double from_ns, until_ns;
    uint64_t stride, span;
    uint16_t thread;
};

/*
 * Run, and the work recorded (LX_WORK numbers by step), or NULL. The steps of ``repeats`` are the
 * last ones.
 */
struct lx_timed_run {
    const struct lx_step *steps;
    size_t n_steps;
    const struct lx_repeat *repeats;
    size_t n_repeats;
    double tail_ns;
    int64_t cpus, ends;
    const int64_t *recorded;
    size_t n_recorded; /* steps; those of loads may be missing */
};

enum { LX_MOST_COLD_SHARE = 1000 };

/*
 * CASE of emulator/linux/timed_windows.py: CpuCost, a window (pages), and the device, which is kind
 * and numbers in ``n_device`` of the batch's numbers from ``device`` on.
 */
struct lx_case {
    double cost_ns[LX_COSTS], cold_ns, cold_share;
    int64_t window;
    uint64_t device, n_device;
};

/* Cases of one run, which share the memory of its replays. */
struct lx_batch {
    const struct lx_case *cases;
    size_t n_cases;
    const double *devices;
    size_t n_devices;
};

/* Times of a case: Timed. */
enum { LX_TOTAL_NS, LX_COMPUTE_NS, LX_WAITED_NS, LX_BEHIND_NS, LX_TIMES };

/*
 * Of each case in turn: ``times``, ``ends_ns`` by thread, ``work`` and ``over_ns`` by step, which
 * are NULL if they are not needed.
 */
struct lx_timed {
    double *times, *ends_ns;
    size_t n_ends;
    int64_t *work;
    double *over_ns;
};

/* Replay each case of a run. Negative: an error. */
LX_WARN_UNUSED int lx_replay(const struct lx_program *program, const struct lx_rules *rules,
                             const struct lx_machine *machine, const struct lx_timed_run *run,
                             const struct lx_batch *batch, struct lx_timed *result);

#endif
