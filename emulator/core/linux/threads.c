/* Threads on processors, one event after another: emulator/stepwise/threads.py. */
#include "threads.h"

#include <math.h>

enum { MOST_FACTOR = 8 };
static const double SLICE_NS = 0.75e6, TICK_NS = 4e6;

static bool
is_before(const struct lx_event *a, const struct lx_event *b)
{
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns;
    if (a->thread->room_since_ns != b->thread->room_since_ns)
        return a->thread->room_since_ns < b->thread->room_since_ns;
    return a->thread->row < b->thread->row;
}

static void
up(struct lx_threads *t, size_t place, struct lx_event event)
{
    for (; place && is_before(&event, &t->events[(place - 1) / 2]); place = (place - 1) / 2)
        t->events[place] = t->events[(place - 1) / 2];
    t->events[place] = event;
}

/* Let something happen to a thread then; nothing else is to happen to it. */
static void
at(struct lx_threads *t, double time_ns, struct lx_thread *thread)
{
    up(t, t->n_events++, (struct lx_event){.time_ns = time_ns, .thread = thread});
}

/* Take an event out of its place. */
static struct lx_event
take_out(struct lx_threads *t, size_t place)
{
    struct lx_event taken = t->events[place], last = t->events[--t->n_events];
    for (size_t child; (child = 2 * place + 1) < t->n_events; place = child) {
        if (child + 1 < t->n_events && is_before(&t->events[child + 1], &t->events[child]))
            child++;
        t->events[place] = t->events[child];
    }
    if (place < t->n_events)
        up(t, place, last);
    return taken;
}

static void
forget_event(struct lx_threads *t, const struct lx_thread *thread)
{
    for (size_t place = 0; place < t->n_events; place++) {
        if (t->events[place].thread == thread) {
            take_out(t, place);
            return;
        }
    }
}

void
lx_threads_settle(struct lx_threads *t)
{
    for (size_t place = 0; place < t->n_events; place++) {
        struct lx_event event = t->events[place];
        if (!isinf(event.time_ns) || event.thread->request == LX_NONE)
            continue;
        event.time_ns = lx_disk_there(t->disk, event.thread->request);
        if (isinf(event.time_ns))
            continue;
        take_out(t, place);
        up(t, t->n_events++, event);
        place = SIZE_MAX; /* the events have moved: look at all again */
    }
}

void
lx_threads_wake(struct lx_threads *t, size_t row)
{
    struct lx_thread *next = t->sleepers[row];
    t->sleepers[row] = NULL;
    for (struct lx_thread *thread; (thread = next);) {
        next = thread->next;
        if (thread->has_alarm) {
            thread->has_alarm = false;
            forget_event(t, thread);
        }
        at(t, t->disk->now_ns, thread);
    }
}

static void
sleep_until_step(struct lx_threads *t, struct lx_thread *thread, size_t row)
{
    thread->next = t->sleepers[row];
    t->sleepers[row] = thread;
}

/* A sleep ends before the step that would have ended it. */
static void
forget_step(struct lx_threads *t, struct lx_thread *thread)
{
    struct lx_thread **link = &t->sleepers[thread->woken_by];
    while (*link != thread)
        link = &(*link)->next;
    *link = thread->next;
    thread->has_alarm = false;
}

static struct lx_thread *
first_of_queue(const struct lx_threads *t)
{
    struct lx_thread *first = t->first;
    for (struct lx_thread *one = first; one && t->credit_ns > 0; one = one->next)
        first = one->vruntime_ns < first->vruntime_ns ? one : first;
    return first;
}

/* Account for what all running threads have computed (update_curr, update_min_vruntime). */
static void
account(struct lx_threads *t, double ns)
{
    const struct lx_thread *first = first_of_queue(t);
    double least_ns = first ? first->vruntime_ns : INFINITY;
    for (size_t i = 0; i < t->n_running; i++) {
        t->running[i]->vruntime_ns += ns;
        least_ns = lx_sooner(least_ns, t->running[i]->vruntime_ns);
    }
    if (!isinf(least_ns))
        t->least_ns = lx_later(t->least_ns, least_ns);
}

/* Let time pass. */
static void
pass(struct lx_threads *t, double time_ns)
{
    double now = t->disk->now_ns;
    if (time_ns <= now)
        return;
    if (t->computing) {
        t->compute_ns += time_ns - now;
    } else if (t->waiting) {
        t->waited_ns += time_ns - now;
        lx_disk_add_span(t->disk, now, time_ns);
    }
    account(t, time_ns - now);
    t->disk->now_ns = time_ns;
}

/* Let a thread compute on: up to the end of its slice at first, or to the next tick. */
static void
compute_on(struct lx_threads *t, struct lx_thread *thread)
{
    double now = t->disk->now_ns, turn_ns = lx_later(thread->since_ns + t->slice_ns, now);
    if (t->credit_ns > 0)
        turn_ns = (floor(now / TICK_NS) + 1) * TICK_NS;
    at(t, lx_sooner(thread->end_ns, turn_ns), thread);
}

/* Let a thread compute that has a CPU. */
static void
compute(struct lx_threads *t, struct lx_thread *thread)
{
    thread->end_ns = t->disk->now_ns + thread->left_ns;
    compute_on(t, thread);
}

static void
take_cpu(struct lx_threads *t, struct lx_thread *thread)
{
    thread->has_cpu = true;
    thread->yields = false;
    thread->after_ns = 0;
    thread->since_ns = t->disk->now_ns;
    t->running[t->n_running++] = thread;
    t->computing += !thread->repeat;
    compute(t, thread);
}

static void
lose_cpu(struct lx_threads *t, struct lx_thread *thread)
{
    size_t i = 0;
    while (t->running[i] != thread)
        i++;
    t->running[i] = t->running[--t->n_running];
    thread->has_cpu = false;
    t->computing -= !thread->repeat;
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

/* Take the first thread out of the queue; NULL if it is empty. */
static struct lx_thread *
next_of_queue(struct lx_threads *t)
{
    struct lx_thread *next = first_of_queue(t), *before = NULL;
    for (struct lx_thread *one = t->first; one != next; one = one->next)
        before = one;
    if (!next)
        return NULL;
    if (before)
        before->next = next->next;
    else
        t->first = next->next;
    if (t->last == next)
        t->last = before;
    return next;
}

/* Queue a thread with its remaining computing time. */
static void
stop(struct lx_threads *t, struct lx_thread *thread)
{
    thread->left_ns = thread->end_ns - t->disk->now_ns;
    stand_in_queue(t, thread);
    lose_cpu(t, thread);
}

/* Give a thread's CPU to the first in the queue. */
static void
leave(struct lx_threads *t, struct lx_thread *thread)
{
    lose_cpu(t, thread);
    double ran_ns = t->disk->now_ns - thread->since_ns;
    thread->lags = ran_ns < thread->after_ns;
    struct lx_thread *next = next_of_queue(t);
    if (!next)
        return;
    take_cpu(t, next);
    next->after_ns = ran_ns;
}

/* Whether a thread goes on at a tick (check_preempt_tick). */
static bool
goes_on(const struct lx_threads *t, const struct lx_thread *thread)
{
    const struct lx_thread *first = first_of_queue(t);
    size_t threads = t->n_running;
    for (const struct lx_thread *one = t->first; one; one = one->next)
        threads++;
    double ran_ns = t->disk->now_ns - thread->since_ns, least_ns = t->credit_ns / 4;
    double due_ns = lx_later(2 * t->credit_ns * (double)t->cpus / (double)threads, least_ns);
    return !first || ran_ns < least_ns ||
           (ran_ns <= due_ns && thread->vruntime_ns - first->vruntime_ns <= due_ns);
}

/* A slice has expired, or there is a tick, and a thread has computing time left. */
static void
take_turns(struct lx_threads *t, struct lx_thread *thread)
{
    if (t->credit_ns > 0 && goes_on(t, thread)) {
        compute_on(t, thread);
        return;
    }
    if (!t->first) {
        at(t, thread->end_ns, thread);
        return;
    }
    stop(t, thread);
    take_cpu(t, next_of_queue(t));
}

static struct lx_thread *
longest_running(const struct lx_threads *t)
{
    struct lx_thread *longest = t->running[0];
    for (size_t i = 1; i < t->n_running; i++) {
        struct lx_thread *one = t->running[i];
        if (one->since_ns < longest->since_ns ||
            (one->since_ns == longest->since_ns && one->row < longest->row))
            longest = one;
    }
    return longest;
}

/*
 * The running thread that has to leave its CPU to a woken one; NULL: none has. Of threads that woke
 * at the same time the one that has computed less comes first (wakeup_preempt_entity).
 * ``after_worker``: the disk's worker runs now, too.
 */
static struct lx_thread *
preempted(const struct lx_threads *t, const struct lx_thread *thread, bool after_worker)
{
    struct lx_thread *most = t->running[0];
    double now = t->disk->now_ns;
    if (!(t->credit_ns > 0)) {
        most = longest_running(t);
        bool ahead = after_worker && most->yields && most->since_ns < now;
        bool first = t->cpus == 1 && thread->lags && most->since_ns == now;
        return ahead || first || most->since_ns + t->slice_ns <= now ? most : NULL;
    }
    for (size_t i = 1; i < t->n_running; i++) {
        struct lx_thread *one = t->running[i];
        if (one->vruntime_ns > most->vruntime_ns ||
            (one->vruntime_ns == most->vruntime_ns && one->row < most->row))
            most = one;
    }
    double margin_ns = most->since_ns < now ? t->credit_ns / 3 : 0;
    return most->vruntime_ns - thread->vruntime_ns > margin_ns ? most : NULL;
}

/* Give a thread a CPU, or a place in the queue. */
static void
want_cpu(struct lx_threads *t, struct lx_thread *thread)
{
    thread->vruntime_ns = lx_later(thread->vruntime_ns, t->least_ns - t->credit_ns);
    bool after_worker = thread->by_device && t->cpus == 1 && lx_disk_worker_runs(t->disk);
    if (t->n_running == (size_t)t->cpus) {
        struct lx_thread *other = preempted(t, thread, after_worker);
        if (!other) {
            stand_in_queue(t, thread);
            return;
        }
        forget_event(t, other);
        stop(t, other);
    }
    take_cpu(t, thread);
    thread->yields = after_worker;
}

/* Execute a thread's current step, and begin to wait for the next one. */
static void
go_on(struct lx_threads *t, struct lx_thread *thread)
{
    t->waiting -= thread->waits;
    thread->waits = false;
    thread->room_since_ns = -1;
    if (thread->has_alarm)
        forget_step(t, thread);
    struct lx_waits waits = t->go_on(t->self, thread);
    if (waits.what != LX_COMPUTE)
        thread->by_device = waits.what == LX_DEVICE;
    switch (waits.what) {
    case LX_COMPUTE:
        thread->left_ns = waits.ns;
        if (thread->has_cpu)
            compute(t, thread);
        else
            want_cpu(t, thread);
        return;
    case LX_DEVICE:
        thread->waits = !thread->repeat;
        t->waiting += thread->waits;
        thread->room_since_ns = waits.for_room ? waits.room_since_ns : -1;
        at(t, waits.ns, thread);
        break;
    case LX_SLEEP:
        at(t, waits.ns, thread);
        if (waits.has_step) {
            thread->has_alarm = true;
            thread->woken_by = waits.row;
            sleep_until_step(t, thread, waits.row);
        }
        break;
    case LX_STEP:
        sleep_until_step(t, thread, waits.row);
        break;
    case LX_OVER:
        thread->over_ns = t->disk->now_ns;
        t->left -= !thread->repeat;
    }
    if (thread->has_cpu)
        leave(t, thread);
}

void
lx_threads_run(struct lx_threads *t, struct lx_thread *all, size_t n, const struct lx_thread *last)
{
    t->slice_ns = INFINITY;
    if ((uint64_t)t->cpus < n) {
        t->slice_ns = SLICE_NS;
        for (int64_t cpus = 2; cpus <= t->cpus && cpus <= MOST_FACTOR; cpus *= 2)
            t->slice_ns += SLICE_NS;
    }
    for (size_t i = 0; i < n; i++) {
        at(t, all[i].begin_ns, &all[i]);
        t->left += !all[i].repeat;
    }
    while (t->n_events && !t->disk->error && (last ? isnan(last->over_ns) : t->left > 0)) {
        struct lx_event event = take_out(t, 0);
        pass(t, event.time_ns);
        if (event.thread->has_cpu && event.thread->end_ns > event.time_ns)
            take_turns(t, event.thread);
        else
            go_on(t, event.thread);
    }
}
