/* Threads on processors, one event after another. */
#ifndef LX_THREADS_H
#define LX_THREADS_H

#include "disk.h"
#include "run.h"

struct lx_repeat;

/* A thread, and the function that continues it. */
enum lx_phase {
    LX_NEXT,
    LX_SLEPT,
    LX_WOKEN,
    LX_COMPUTED,
    LX_READS_AHEAD,
    LX_OUTSIDE,
    LX_HAS_ROOM,
    LX_ARRIVED,
    LX_GOES_ON,
    LX_HELD,
    LX_LET_GO,
    LX_ENDS
};

struct lx_thread {
    const size_t *steps; /* its rows */
    size_t n_steps, at, row, number;
    enum lx_phase phase;
    bool has_cpu, waits;    /* ``waits``: for the device; never of a load */
    bool yields, by_device; /* the disk's worker ran when it got the CPU; it slept for a device */
    bool lags;      /* it has computed less than ``after_ns``: the thread that left it the CPU */
    bool has_alarm; /* it sleeps, and the end of step ``woken_by`` would wake it */
    size_t woken_by;
    size_t made, outside, outside_end; /* its requests; the queue has no room from ``outside`` on */
    size_t held, held_end;             /* those that ->readahead itself waits for */
    double outside_since_ns,
        room_since_ns; /* ``room_since_ns``: -1 while it waits for other things */
    size_t request;    /* that it waits for, or LX_NONE */
    bool operates;     /* its operation goes on, and needs pages */
    bool sent;         /* it has just sent requests */
    struct lx_needed needed;
    double left_ns, since_ns, after_ns, end_ns, over_ns, vruntime_ns;
    double tail_ns, saved_ns, behind_ns;
    double was_cold_ns, cold_ns; /* of its computing recorded, and now: until caches are warm */
    struct lx_call call;
    const struct lx_repeat *repeat; /* of a load's thread, else NULL */
    struct lx_operation operation;  /* that it repeats, at its present place */
    double begin_ns;
    uint64_t round;
    struct lx_thread *next; /* in the queue, or among those that wait for the same step */
};

/* The next wait of a thread. */
enum lx_wait { LX_COMPUTE, LX_SLEEP, LX_DEVICE, LX_STEP, LX_OVER };

struct lx_waits {
    enum lx_wait what;
    double ns;     /* LX_COMPUTE: duration; LX_SLEEP, LX_DEVICE: time of the end */
    bool has_step; /* LX_SLEEP: the end of step ``row`` ends it sooner */
    size_t row;    /* LX_STEP, LX_SLEEP */
    bool for_room; /* LX_DEVICE: in the queue, since ``room_since_ns`` */
    double room_since_ns;
};

struct lx_event {
    double time_ns;
    struct lx_thread *thread;
};

struct lx_threads {
    struct lx_disk *disk;
    int64_t cpus, waiting;
    size_t computing, left; /* threads that have a CPU, or are not over, without those of loads */
    double slice_ns, compute_ns, waited_ns;
    double credit_ns, least_ns; /* 0: threads take turns; the least vruntime of those not asleep */
    struct lx_thread *first, *last; /* queue for a CPU */
    struct lx_thread **running;     /* those that have one */
    size_t n_running;
    struct lx_event *events; /* a heap: one of each thread at most */
    size_t n_events;
    struct lx_thread **sleepers; /* by row that they wait for */
    struct lx_waits (*go_on)(void *self, struct lx_thread *thread);
    void *self;
};

/* Run threads until ``last`` has ended, or all have but those of loads. The arrays of events and of
 * running threads * have room for all of them. */
void lx_threads_run(struct lx_threads *threads, struct lx_thread *all, size_t n,
                    const struct lx_thread *last);

/* Let threads that wait for requests outside the queue know when these are done. */
void lx_threads_settle(struct lx_threads *threads);

/* Wake the threads that wait for a step, which has ended. */
void lx_threads_wake(struct lx_threads *threads, size_t row);

#endif
