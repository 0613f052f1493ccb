/* A run in time, case by case: emulator/stepwise/timed.py. */
#include "timed.h"

#include "memory.h"
#include "program.h"
#include "threads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CPUS = 1 << 16, MOST_BIOS = 1 << 20 };

/* Of repeated steps: rounds in all, the least time of a round, the longest stride, and places. */
enum { MOST_ROUNDS = 1 << 24, LEAST_ROUND_NS = 1000, MOST_STRIDE = 1 << 22 };
static const uint64_t MOST_AT = UINT64_C(1) << 46;

struct replay {
    struct lx_kernel kernel;
    struct lx_disk disk;
    struct lx_threads threads;
    const struct lx_timed_run *run;
    const struct lx_case *current;
    struct lx_thread *all;
    size_t n_threads, n_ends;
    size_t *rows;    /* of steps, thread by thread */
    bool *over;      /* of each step */
    size_t *once;    /* requests of steps with LX_ONCE */
    int64_t *unkept; /* room for the work of a case, if the batch keeps none */
    size_t n_once;
    size_t n_own; /* steps that no load repeats */
    uint64_t rounds;
    double lead_ns;  /* from the beginning of the first load to that of the run */
    double *ends_ns; /* results of the case, as in struct lx_timed */
    int64_t *work;
    double *over_ns;
};

static int
check_case(const struct lx_case *one, size_t n_devices)
{
    int error = lx_check_window(one->window);
    for (size_t i = 0; i < LX_COSTS && !error; i++)
        if (!(one->cost_ns[i] >= 0 && one->cost_ns[i] <= LX_MOST_NS))
            error = LX_BAD_STEP;
    bool warms = one->cold_ns >= 0 && one->cold_ns <= LX_MOST_NS && one->cold_share >= 0 &&
                 one->cold_share <= LX_MOST_COLD_SHARE;
    if (!error && !warms)
        error = LX_BAD_STEP;
    if (!error && (one->device > n_devices || one->n_device > n_devices - one->device))
        error = LX_BAD_DEVICE;
    return error;
}

/* check_repeat of emulator/linux/steps.py. */
static int
check_repeat(const struct lx_program *program, const struct lx_timed_run *run,
             const struct lx_repeat *repeat)
{
    bool times = fabs(repeat->from_ns) <= LX_MOST_NS && repeat->until_ns > repeat->from_ns;
    double round_ns = 0;
    if (!times || repeat->stride > MOST_STRIDE || repeat->span > MOST_AT ||
        repeat->thread == run->ends)
        return LX_BAD_STEP;
    for (size_t row = 0; row < run->n_steps; row++) {
        const struct lx_step *step = &run->steps[row];
        if (step->thread != repeat->thread)
            continue;
        if (step->waits_for != -1 || step->woken_by != -1 || step->meta & LX_ONCE ||
            step->cpu_ns < 0 || step->sector > MOST_AT)
            return LX_BAD_STEP;
        round_ns += step->cpu_ns;
        if (step->operation < 0)
            continue;
        const struct lx_operation *operation = &program->operations[step->operation];
        bool advice = operation->op >= LX_NORMAL && operation->op <= LX_RANDOM;
        if (!(advice || (operation->op == LX_READ && operation->at <= MOST_AT)))
            return LX_BAD_STEP;
    }
    return round_ns >= LEAST_ROUND_NS ? LX_OK : LX_BAD_STEP;
}

static const struct lx_repeat *
repeat_of(const struct lx_timed_run *run, size_t thread)
{
    for (size_t i = 0; i < run->n_repeats; i++)
        if (run->repeats[i].thread == thread)
            return &run->repeats[i];
    return NULL;
}

/* The number of steps that no load repeats: those of loads follow them. */
static size_t
own_steps(const struct lx_timed_run *run)
{
    size_t own = run->n_steps;
    while (own && run->n_repeats && repeat_of(run, run->steps[own - 1].thread))
        own--;
    return own;
}

static int
check_repeats(const struct lx_program *program, const struct lx_timed_run *run)
{
    size_t own = own_steps(run);
    int error = LX_OK;
    if (run->n_repeats && (!own || (run->recorded && run->n_recorded < own)))
        return LX_BAD_STEP;
    for (size_t row = 0; run->n_repeats && row < own; row++)
        if (run->steps[row].woken_by >= (int64_t)own || repeat_of(run, run->steps[row].thread))
            return LX_BAD_STEP;
    for (size_t i = 0; i < run->n_repeats && !error; i++)
        error = repeat_of(run, run->repeats[i].thread) == &run->repeats[i]
                    ? check_repeat(program, run, &run->repeats[i])
                    : LX_BAD_STEP;
    return error;
}

/* Run.check. */
static int
check(const struct lx_program *program, const struct lx_timed_run *run, size_t n_ends)
{
    double sum = fabs(run->tail_ns);
    bool ends = run->ends == -1;
    for (size_t row = 0; row < run->n_steps; row++) {
        const struct lx_step *step = &run->steps[row];
        sum += fabs(step->cpu_ns) + fabs(step->sleep_ns);
        ends |= step->thread == run->ends;
        if (step->sleep_ns < 0 || step->thread >= n_ends || step->bios > MOST_BIOS)
            return LX_BAD_STEP;
        if (step->woken_by < -1 || step->woken_by >= (int64_t)run->n_steps)
            return LX_BAD_STEP;
        if (step->waits_for < -1 || step->waits_for >= (int64_t)row)
            return LX_BAD_STEP;
        if (step->operation < -1 || step->operation >= (int64_t)program->n_operations)
            return LX_BAD_ROW;
    }
    if (!(sum <= LX_MOST_NS) || !ends || !n_ends || run->cpus < 1 || run->cpus > MOST_CPUS)
        return LX_BAD_STEP;
    return check_repeats(program, run);
}

/* The processor's work for requests, pages and sectors. */
static double
cost(const struct replay *r, const int64_t *work)
{
    double cost_ns = 0;
    for (size_t i = 0; i < LX_COSTS; i++)
        cost_ns += (double)work[i] * r->current->cost_ns[i];
    return cost_ns;
}

/* The processor's work that a step needed more than when recorded. */
static double
change(const struct replay *r, size_t row)
{
    int64_t more[LX_COSTS];
    for (size_t i = 0; i < LX_COSTS; i++)
        more[i] = r->work[LX_WORK * row + i] - r->run->recorded[LX_WORK * row + i];
    return cost(r, more);
}

/* The first request with LX_ONCE that a step's read lies within; LX_NONE if there is none. */
static size_t
read_before(const struct replay *r, const struct lx_step *step)
{
    for (size_t i = 0; i < r->n_once; i++) {
        const struct lx_read *read = &r->disk.requests[r->once[i]].read;
        uint64_t from = step->sector - read->sector;
        if (step->sector >= read->sector && from <= read->sectors &&
            step->sectors <= read->sectors - from)
            return r->once[i];
    }
    return LX_NONE;
}

/* Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, 2014: their mix64. */
static uint64_t
mixed(uint64_t number)
{
    number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
    return number ^ number >> 31;
}

/* By how much a load's step is further than in the first round; it takes ``unit``. */
static uint64_t
further(const struct lx_thread *thread, uint64_t unit)
{
    if (!thread->repeat)
        return 0;
    uint64_t places = unit ? thread->repeat->span / unit : 0;
    if (!places)
        return thread->round * thread->repeat->stride;
    uint64_t number = ((uint64_t)thread->number << 32) + thread->round + 1;
    return mixed(number * UINT64_C(0x9e3779b97f4a7c15)) % places * unit;
}

/* Prepare to make requests of a thread. */
static void
make_requests_of(struct replay *r, const struct lx_thread *thread)
{
    r->disk.unlimited = r->run->steps[thread->row].meta & LX_UNLIMITED;
    r->disk.write = r->run->steps[thread->row].meta & LX_WRITE;
}

/* A read at its recorded place. */
static void
read_as_it_was(struct replay *r, struct lx_thread *thread)
{
    const struct lx_step *step = &r->run->steps[thread->row];
    bool once = step->meta & LX_ONCE;
    thread->sent = false;
    thread->request = once && step->sectors ? read_before(r, step) : LX_NONE;
    if (thread->request != LX_NONE || !step->sectors)
        return;
    r->work[LX_WORK * thread->row] = 1;
    make_requests_of(r, thread);
    struct lx_read read = {.sector = step->sector + further(thread, step->sectors),
                           .sectors = step->sectors,
                           .bios = step->bios,
                           .meta = step->meta & LX_META};
    thread->request = lx_disk_send(&r->disk, read);
    thread->sent = !(step->meta & LX_AHEAD);
    if (once && thread->request != LX_NONE)
        r->once[r->n_once++] = thread->request;
}

/* Let a thread have what the queue had no room for, and what ->readahead itself waits for. */
static void
take_requests(struct replay *r, struct lx_thread *thread)
{
    struct lx_disk *disk = &r->disk;
    thread->made = thread->outside = disk->outside;
    thread->outside_end = disk->outside = disk->n_requests;
    thread->held = disk->held;
    thread->held_end = disk->held = disk->held_end;
}

/*
 * Continue a thread's operation until it needs pages, or has ended. Whether it is a load, which
 * computes what its readahead costs before it submits the requests.
 */
static bool
operate(struct replay *r, struct lx_thread *thread, struct lx_waits *waits)
{
    int64_t *work = &r->work[LX_WORK * thread->row];
    size_t requests = r->disk.n_requests;
    int64_t pages = r->disk.pages, sectors = r->disk.block_sectors;
    make_requests_of(r, thread);
    r->disk.deferred = thread->repeat;
    thread->operates = lx_go_on(&r->kernel, &thread->call, &thread->needed);
    r->disk.deferred = false;
    thread->sent = r->disk.n_requests > requests;
    int64_t more[LX_COSTS] = {(int64_t)(r->disk.n_requests - requests), r->disk.pages - pages,
                              r->disk.block_sectors - sectors};
    for (size_t i = 0; i < LX_COSTS; i++)
        work[i] += more[i];
    if (r->kernel.arena.failed)
        r->disk.error = LX_NO_MEMORY;
    take_requests(r, thread);
    if (!thread->repeat || !thread->sent)
        return false;
    *waits = (struct lx_waits){.what = LX_COMPUTE, .ns = cost(r, more)};
    thread->phase = LX_READS_AHEAD;
    return true;
}

static struct lx_waits
wait_for_room(struct lx_thread *thread, double until_ns)
{
    thread->phase = LX_OUTSIDE;
    return (struct lx_waits){.what = LX_DEVICE,
                             .ns = until_ns,
                             .for_room = true,
                             .room_since_ns = thread->outside_since_ns};
}

/* Whether a thread has to wait for room in the queue. */
static bool
is_outside(struct replay *r, struct lx_thread *thread, struct lx_waits *waits)
{
    if (thread->outside == thread->outside_end)
        return false;
    double until = lx_disk_accept(&r->disk, &thread->outside, thread->outside_end);
    lx_threads_settle(&r->threads);
    thread->outside_since_ns = r->disk.now_ns;
    *waits = wait_for_room(thread, until);
    return thread->outside != thread->outside_end && !r->disk.error;
}

/*
 * Let a thread that waited for room want a CPU. A completed request wakes the first of them
 * (sbitmap_queue_wake_up); the others sleep until the next one is completed.
 */
static struct lx_waits
promise(struct replay *r, struct lx_thread *thread)
{
    bool write = r->disk.requests[thread->outside].write;
    double until = lx_disk_room(&r->disk, write, r->disk.promised);
    if (until > r->disk.now_ns)
        return wait_for_room(thread, until);
    r->disk.promised++;
    thread->phase = LX_HAS_ROOM;
    return (struct lx_waits){.what = LX_COMPUTE, .ns = 0};
}

/* Whether a thread has to wait for its requests, once the queue has accepted them. */
static bool
awaits(struct replay *r, struct lx_thread *thread, struct lx_waits *waits)
{
    double until = 0;
    for (size_t row = thread->made; thread->repeat && row < thread->outside_end; row++)
        if (thread->operates && r->disk.requests[row].copied)
            until = lx_later(until, r->disk.requests[row].done_ns);
    for (; thread->held < thread->held_end; thread->held++)
        until = lx_later(until, r->disk.requests[thread->held].done_ns);
    const struct lx_step *step = &r->run->steps[thread->row];
    bool operation = step->operation >= 0;
    if (!operation && step->meta & LX_AHEAD)
        thread->request = LX_NONE;
    if (operation)
        thread->request = thread->operates ? lx_disk_use(&r->kernel, thread->needed) : LX_NONE;
    if (thread->request != LX_NONE)
        until = lx_later(until, lx_disk_there(&r->disk, thread->request));
    thread->phase = operation && !thread->operates ? LX_HELD : LX_ARRIVED;
    *waits = (struct lx_waits){.what = LX_DEVICE, .ns = until};
    return until > r->disk.now_ns;
}

static struct lx_waits next_step(struct replay *r, struct lx_thread *thread);

static struct lx_waits
end_step(struct replay *r, struct lx_thread *thread)
{
    bool counts = r->run->recorded && !thread->repeat;
    if (counts && r->run->recorded[LX_WORK * thread->row + LX_WAITS])
        thread->was_cold_ns = r->current->cold_ns * (1 + r->current->cold_share);
    r->over[thread->row] = true;
    lx_threads_wake(&r->threads, thread->row);
    bool reads = r->run->steps[thread->row].operation >= 0;
    thread->behind_ns = reads && counts ? change(r, thread->row) : 0;
    if (r->over_ns)
        r->over_ns[thread->row] =
            r->disk.now_ns + lx_later(thread->behind_ns + thread->saved_ns, 0);
    thread->at++;
    return next_step(r, thread);
}

/* A thread waits for the device, maybe for a request that takes no time. */
static void
count_wait(struct replay *r, struct lx_thread *thread)
{
    thread->cold_ns = r->run->recorded && !thread->repeat ? r->current->cold_ns : 0;
    r->work[LX_WORK * thread->row + LX_WAITS]++;
}

/* Go on with a step as far as possible, after what its thread has waited for. */
static struct lx_waits
go_through(struct replay *r, struct lx_thread *thread)
{
    struct lx_waits waits;
    while (!is_outside(r, thread, &waits) && !awaits(r, thread, &waits)) {
        if (thread->sent && waits.ns == r->disk.now_ns)
            count_wait(r, thread);
        if (!thread->operates || r->disk.error)
            return end_step(r, thread);
        if (operate(r, thread, &waits))
            return waits;
    }
    count_wait(r, thread);
    return waits;
}

static struct lx_waits
go_on_with_operation(struct replay *r, struct lx_thread *thread)
{
    struct lx_waits waits;
    return operate(r, thread, &waits) ? waits : go_through(r, thread);
}

static struct lx_waits
begin_step(struct replay *r, struct lx_thread *thread)
{
    const struct lx_step *step = &r->run->steps[thread->row];
    thread->operates = false;
    lx_memory_own(&r->kernel, step->own_pages);
    if (step->operation < 0) {
        read_as_it_was(r, thread);
    } else {
        const struct lx_operation *operation = &r->kernel.program->operations[step->operation];
        if (thread->repeat && operation->op == LX_READ) {
            thread->operation = *operation;
            thread->operation.at += further(thread, operation->length);
            operation = &thread->operation;
        }
        lx_begin(&r->kernel, &thread->call, operation);
        return go_on_with_operation(r, thread);
    }
    take_requests(r, thread);
    return go_through(r, thread);
}

/* What a thread waited for has arrived. */
static struct lx_waits
go_on_with_step(struct replay *r, struct lx_thread *thread)
{
    return thread->operates ? go_on_with_operation(r, thread) : end_step(r, thread);
}

/* _Cold.computing_ns: the duration of computing that took ``recorded_ns`` when recorded. */
static double
computing_ns(const struct replay *r, struct lx_thread *thread, double recorded_ns)
{
    if (thread->was_cold_ns <= 0 && thread->cold_ns <= 0)
        return recorded_ns;
    double share = r->current->cold_share;
    double slow_ns = lx_sooner(lx_later(recorded_ns, 0), thread->was_cold_ns);
    thread->was_cold_ns -= slow_ns;
    double warm_ns = recorded_ns - slow_ns * (share / (1 + share));
    double cold_ns = lx_sooner(lx_later(warm_ns, 0), thread->cold_ns);
    thread->cold_ns -= cold_ns;
    return warm_ns + cold_ns * share;
}

/* Compute the due time; a saving that exceeds it is carried over to later computing. */
static struct lx_waits
compute(const struct replay *r, struct lx_thread *thread, double cpu_ns, enum lx_phase phase)
{
    double due = computing_ns(r, thread, cpu_ns) + thread->behind_ns + thread->saved_ns;
    thread->saved_ns = lx_sooner(due, 0);
    thread->phase = phase;
    return (struct lx_waits){.what = LX_COMPUTE, .ns = lx_later(due, 0)};
}

static struct lx_waits
wait_for_step(struct replay *r, struct lx_thread *thread)
{
    const struct lx_step *step = &r->run->steps[thread->row];
    if (step->waits_for < 0 || r->over[step->waits_for])
        return compute(r, thread, step->cpu_ns, LX_COMPUTED);
    thread->phase = LX_WOKEN;
    return (struct lx_waits){.what = LX_STEP, .row = (size_t)step->waits_for};
}

/* Begin the steps of a load again; whether it goes on. */
static bool
begin_again(struct replay *r, struct lx_thread *thread)
{
    if (!thread->repeat || r->disk.now_ns >= r->lead_ns + thread->repeat->until_ns)
        return false;
    if (++r->rounds > MOST_ROUNDS)
        r->disk.error = LX_TOO_OFTEN;
    for (thread->at = thread->n_steps; thread->at; thread->at--)
        memset(&r->work[LX_WORK * thread->steps[thread->at - 1]], 0, LX_WORK * sizeof(*r->work));
    thread->round++;
    return true;
}

static struct lx_waits
next_step(struct replay *r, struct lx_thread *thread)
{
    if (thread->at == thread->n_steps && !begin_again(r, thread))
        return compute(r, thread, thread->tail_ns, LX_ENDS);
    thread->row = thread->steps[thread->at];
    const struct lx_step *step = &r->run->steps[thread->row];
    bool has_step = step->woken_by >= 0;
    if (step->sleep_ns <= 0 || (has_step && r->over[step->woken_by]))
        return wait_for_step(r, thread);
    thread->phase = LX_SLEPT;
    return (struct lx_waits){
        .what = LX_SLEEP,
        .ns = r->disk.now_ns + step->sleep_ns,
        .has_step = has_step,
        .row = has_step ? (size_t)step->woken_by : 0,
    };
}

/* _live. */
static struct lx_waits
go_on(void *self, struct lx_thread *thread)
{
    struct replay *r = self;
    switch (thread->phase) {
    case LX_NEXT:
        return next_step(r, thread);
    case LX_SLEPT:
        return wait_for_step(r, thread);
    case LX_WOKEN:
        return compute(r, thread, r->run->steps[thread->row].cpu_ns, LX_COMPUTED);
    case LX_COMPUTED:
        return begin_step(r, thread);
    case LX_READS_AHEAD:
        return go_through(r, thread);
    case LX_OUTSIDE:
        return promise(r, thread);
    case LX_HAS_ROOM:
        r->disk.promised--;
        return go_through(r, thread);
    case LX_ARRIVED:
        thread->phase = LX_GOES_ON;
        return (struct lx_waits){.what = LX_COMPUTE, .ns = 0};
    case LX_GOES_ON:
        return go_on_with_step(r, thread);
    case LX_HELD:
        thread->phase = LX_LET_GO;
        return (struct lx_waits){.what = LX_COMPUTE, .ns = 0};
    case LX_LET_GO:
        return end_step(r, thread);
    default:
        return (struct lx_waits){.what = LX_OVER};
    }
}

/* Sort the steps' rows by thread. */
static int
set_threads(struct replay *r)
{
    const struct lx_timed_run *run = r->run;
    size_t *end = calloc(r->n_ends + 1, sizeof(*end)), begin = 0;
    if (!end)
        return LX_NO_MEMORY;
    for (size_t row = 0; row < run->n_steps; row++)
        end[run->steps[row].thread + 1]++;
    for (size_t i = 0; i < r->n_ends; i++)
        end[i + 1] += end[i];
    for (size_t row = 0; row < run->n_steps; row++)
        r->rows[end[run->steps[row].thread]++] = row;
    size_t last = r->n_own ? run->steps[r->n_own - 1].thread : 0;
    if (run->ends >= 0)
        last = (size_t)run->ends;
    for (size_t i = 0; i < r->n_ends; begin = end[i++]) {
        if (begin == end[i] && run->n_steps)
            continue;
        const struct lx_repeat *repeat = repeat_of(run, i);
        r->all[r->n_threads++] = (struct lx_thread){
            .repeat = repeat,
            .begin_ns = r->lead_ns + (repeat ? repeat->from_ns : 0),
            .steps = r->rows + begin,
            .n_steps = end[i] - begin,
            .number = i,
            .tail_ns = i == last ? run->tail_ns : 0,
        };
    }
    free(end);
    return LX_OK;
}

static int
set_up(struct replay *r)
{
    size_t steps = r->run->n_steps + 1, threads = r->n_ends;
    int error = lx_set_up(&r->kernel);
    r->n_own = own_steps(r->run);
    for (size_t i = 0; i < r->run->n_repeats; i++)
        r->lead_ns = lx_later(r->lead_ns, -r->run->repeats[i].from_ns);
    r->rows = calloc(steps, sizeof(*r->rows));
    r->over = calloc(steps, sizeof(*r->over));
    r->once = calloc(steps, sizeof(*r->once));
    r->unkept = calloc(steps, LX_WORK * sizeof(*r->unkept));
    r->all = calloc(threads, sizeof(*r->all));
    r->threads.sleepers = calloc(steps, sizeof(*r->threads.sleepers));
    r->threads.events = calloc(threads, sizeof(*r->threads.events));
    r->threads.running = calloc(threads, sizeof(*r->threads.running));
    if (!r->rows || !r->over || !r->once || !r->unkept || !r->all || !r->threads.sleepers ||
        !r->threads.events || !r->threads.running)
        return LX_NO_MEMORY;
    return error ? error : set_threads(r);
}

/* Forget the case before. */
static void
renew(struct replay *r)
{
    size_t steps = r->run->n_steps;
    struct lx_threads *t = &r->threads;
    lx_start(&r->kernel, r->current->window);
    lx_disk_renew(&r->disk);
    memset(r->over, 0, steps * sizeof(*r->over));
    memset(r->work, 0, LX_WORK * steps * sizeof(*r->work));
    for (size_t row = 0; r->over_ns && row < steps; row++)
        r->over_ns[row] = NAN;
    r->n_once = 0;
    r->rounds = 0;
    memset(t->sleepers, 0, steps * sizeof(*t->sleepers));
    *t = (struct lx_threads){.disk = &r->disk,
                             .cpus = r->run->cpus,
                             .credit_ns = (double)r->kernel.machine->credit_ns,
                             .go_on = go_on,
                             .self = r,
                             .events = t->events,
                             .running = t->running,
                             .sleepers = t->sleepers};
    for (size_t i = 0; i < r->n_threads; i++) {
        struct lx_thread *thread = &r->all[i];
        *thread = (struct lx_thread){.repeat = thread->repeat,
                                     .begin_ns = thread->begin_ns,
                                     .steps = thread->steps,
                                     .n_steps = thread->n_steps,
                                     .row = thread->n_steps ? thread->steps[0] : 0,
                                     .number = thread->number,
                                     .tail_ns = thread->tail_ns,
                                     .over_ns = NAN,
                                     .room_since_ns = -1,
                                     .request = LX_NONE};
    }
}

/* Replay a case of a batch. */
static int
run_case(struct replay *r, const struct lx_batch *batch, double *times)
{
    const struct lx_case *one = r->current;
    renew(r);
    if (!lx_device_set(&r->disk.device, batch->devices + one->device, one->n_device))
        return LX_BAD_DEVICE;
    const struct lx_thread *last = NULL;
    for (size_t i = 0; i < r->n_threads; i++)
        if ((int64_t)r->all[i].number == r->run->ends)
            last = &r->all[i];
    lx_threads_run(&r->threads, r->all, r->n_threads, last);
    if (r->disk.error)
        return r->disk.error;
    for (size_t i = 0; i < r->n_ends; i++)
        r->ends_ns[i] = NAN;
    for (size_t i = 0; i < r->n_threads; i++)
        r->ends_ns[r->all[i].number] = r->all[i].over_ns - r->lead_ns;
    for (size_t row = 0; r->over_ns && row < r->run->n_steps; row++)
        r->over_ns[row] -= r->lead_ns;
    times[LX_TOTAL_NS] = r->disk.now_ns - r->lead_ns;
    times[LX_COMPUTE_NS] = r->threads.compute_ns;
    times[LX_WAITED_NS] = r->threads.waited_ns;
    times[LX_BEHIND_NS] = lx_disk_wasted(&r->disk);
    return LX_OK;
}

static int
run_all(struct replay *r, const struct lx_batch *batch, const struct lx_timed *result)
{
    size_t steps = r->run->n_steps;
    for (size_t i = 0; i < batch->n_cases; i++) {
        r->current = &batch->cases[i];
        r->ends_ns = result->ends_ns + i * r->n_ends;
        r->work = result->work ? result->work + i * LX_WORK * steps : r->unkept;
        r->over_ns = result->over_ns ? result->over_ns + i * steps : NULL;
        int error = run_case(r, batch, result->times + i * LX_TIMES);
        if (error)
            return error;
    }
    return LX_OK;
}

int
lx_replay(const struct lx_program *program, const struct lx_rules *rules,
          const struct lx_machine *machine, const struct lx_timed_run *run,
          const struct lx_batch *batch, struct lx_timed *result)
{
    struct replay r = {
        .kernel = {.rules = rules, .machine = machine, .program = program, .disk = &r.disk},
        .disk = {.nr_requests = (size_t)machine->nr_requests,
                 .nr_writes = (size_t)machine->nr_writes,
                 .nr_driver_tags = (size_t)machine->nr_driver_tags},
        .run = run,
        .n_ends = result->n_ends,
    };
    int error = lx_check(&r.kernel);
    for (size_t i = 0; i < batch->n_cases && !error; i++)
        error = check_case(&batch->cases[i], batch->n_devices);
    if (!error)
        error = check(program, run, result->n_ends);
    if (!error)
        error = set_up(&r);
    if (!error)
        error = run_all(&r, batch, result);
    lx_tear_down(&r.kernel);
    lx_disk_free(&r.disk);
    free(r.rows);
    free(r.over);
    free(r.once);
    free(r.unkept);
    free(r.all);
    free(r.threads.sleepers);
    free(r.threads.events);
    free(r.threads.running);
    return error;
}
