/* Threads on processors, one event after another: emulator/linux/threads.py. */
#include "linux_timed.h"

#include <math.h>

static const double SLICE_NS = 3e6;

static bool
is_before(const struct lx_event *a, const struct lx_event *b)
{
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns;
    return a->thread->row < b->thread->row;
}

static void
at(struct lx_threads *t, double time_ns, struct lx_thread *thread)
{
    struct lx_event event = {time_ns, thread};
    size_t place = t->n_events++;
    for (; place && is_before(&event, &t->events[(place - 1) / 2]); place = (place - 1) / 2)
        t->events[place] = t->events[(place - 1) / 2];
    t->events[place] = event;
}

static struct lx_event
pop(struct lx_threads *t)
{
    struct lx_event first = t->events[0], last = t->events[--t->n_events];
    size_t place = 0;
    for (size_t child; (child = 2 * place + 1) < t->n_events; place = child) {
        if (child + 1 < t->n_events && is_before(&t->events[child + 1], &t->events[child]))
            child++;
        if (!is_before(&t->events[child], &last))
            break;
        t->events[place] = t->events[child];
    }
    t->events[place] = last;
    return first;
}

void
lx_threads_wake(struct lx_threads *t, size_t row)
{
    struct lx_thread *next = t->sleepers[row];
    t->sleepers[row] = NULL;
    for (struct lx_thread *thread; (thread = next);) {
        next = thread->next;
        at(t, t->disk->now_ns, thread);
    }
}

/* Let time pass. */
static void
pass(struct lx_threads *t, double time_ns)
{
    double now = t->disk->now_ns;
    if (time_ns <= now)
        return;
    if (t->free < t->cpus) {
        t->compute_ns += time_ns - now;
    } else if (t->waiting) {
        t->waited_ns += time_ns - now;
        lx_disk_add_span(t->disk, now, time_ns);
    }
    t->disk->now_ns = time_ns;
}

static void
compute(struct lx_threads *t, struct lx_thread *thread)
{
    double now = t->disk->now_ns;
    thread->has_cpu = true;
    thread->end_ns = now + thread->left_ns;
    at(t, fmin(thread->end_ns, now + t->slice_ns), thread);
}

static void
stand_in_queue(struct lx_threads *t, struct lx_thread *thread)
{
    thread->next = NULL;
    if (t->first)
        t->last->next = thread;
    else
        t->first = thread;
    t->last = thread;
}

/* Give a thread's CPU to the first in the queue. */
static void
leave(struct lx_threads *t, struct lx_thread *thread)
{
    struct lx_thread *first = t->first;
    thread->has_cpu = false;
    if (!first) {
        t->free++;
        return;
    }
    t->first = first->next;
    compute(t, first);
}

/* A slice is over, and a thread has not computed all. */
static void
take_turns(struct lx_threads *t, struct lx_thread *thread)
{
    double now = t->disk->now_ns;
    if (!t->first) {
        at(t, fmin(thread->end_ns, now + t->slice_ns), thread);
        return;
    }
    thread->left_ns = thread->end_ns - now;
    stand_in_queue(t, thread);
    leave(t, thread);
}

static void
want_cpu(struct lx_threads *t, struct lx_thread *thread, double for_ns)
{
    thread->left_ns = for_ns;
    if (thread->has_cpu) {
        compute(t, thread);
    } else if (t->free) {
        t->free--;
        compute(t, thread);
    } else {
        stand_in_queue(t, thread);
    }
}

/* Let a thread do what it does now, and begin to wait for what comes next. */
static void
go_on(struct lx_threads *t, struct lx_thread *thread)
{
    t->waiting -= thread->waits;
    thread->waits = false;
    struct lx_waits waits = t->go_on(t->self, thread);
    switch (waits.what) {
    case LX_COMPUTE:
        want_cpu(t, thread, waits.ns);
        return;
    case LX_DEVICE:
        thread->waits = true;
        t->waiting++;
        at(t, waits.ns, thread);
        break;
    case LX_SLEEP:
        at(t, waits.ns, thread);
        break;
    case LX_STEP:
        thread->next = t->sleepers[waits.row];
        t->sleepers[waits.row] = thread;
        break;
    case LX_OVER:
        thread->over_ns = t->disk->now_ns;
    }
    if (thread->has_cpu)
        leave(t, thread);
}

void
lx_threads_run(struct lx_threads *t, struct lx_thread *all, size_t n, const struct lx_thread *last)
{
    t->free = t->cpus;
    t->slice_ns = (uint64_t)t->cpus < n ? SLICE_NS : INFINITY;
    for (size_t i = 0; i < n; i++)
        at(t, 0, &all[i]);
    while (t->n_events && !t->disk->error && (!last || isnan(last->over_ns))) {
        struct lx_event event = pop(t);
        pass(t, event.time_ns);
        if (event.thread->has_cpu && event.thread->end_ns > event.time_ns)
            take_turns(t, event.thread);
        else
            go_on(t, event.thread);
    }
}
