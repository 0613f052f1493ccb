/*
 * The core for a browser: JavaScript writes the inputs into linear memory, calls, and reads the
 * results there. analyzer/report/live/core.mjs has the same layouts.
 */
#include "core/linux/program.h"
#include "core/linux/run.h"
#include "core/linux/timed.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(#name)))

_Static_assert(sizeof(void *) == 4, "addresses are numbers of 32 bits in the layouts below");
_Static_assert(sizeof(struct lx_file) == 24 && sizeof(struct lx_insert) == 32 &&
                   sizeof(struct lx_step) == 64 && sizeof(struct lx_machine) == 120,
               "core.mjs knows these layouts");

/* A program, the rules and the machine: addresses, and numbers of rows. */
struct inputs {
    const struct lx_operation *operations;
    size_t n_operations;
    const struct lx_mapping *mappings;
    size_t n_mappings;
    const uint32_t *handles;
    size_t n_handles;
    const struct lx_file *files;
    size_t n_files;
    const struct lx_extent *extents;
    size_t n_extents;
    const uint32_t *group;
    size_t n_groups;
    const struct lx_rules *rules;
    const struct lx_machine *machine;
};

/* It begins as struct lx_program (kernel.h), which the core reads, up to the end of ``n_groups``.
 */
#define SAME(member)                                                                               \
    _Static_assert(offsetof(struct inputs, member) == offsetof(struct lx_program, member) &&       \
                       sizeof(((struct inputs *)0)->member) ==                                     \
                           sizeof(((struct lx_program *)0)->member),                               \
                   "struct inputs differs from struct lx_program: " #member)
SAME(operations);
SAME(n_operations);
SAME(mappings);
SAME(n_mappings);
SAME(handles);
SAME(n_handles);
SAME(files);
SAME(n_files);
SAME(extents);
SAME(n_extents);
SAME(group);
SAME(n_groups);
_Static_assert(offsetof(struct lx_program, by_file) == offsetof(struct inputs, rules),
               "struct lx_program has a member that struct inputs lacks");

/* What emulate() fills: counts by group, and a log if it is asked for, which is to be released. */
struct counted {
    int64_t *requests, *pages;
    struct lx_insert *inserts;
    size_t n_inserts;
    int log;
};

/* A run, and what replay() fills. */
struct timed {
    double tail_ns, cost_ns[LX_COSTS], cold_ns, cold_share;
    double times[LX_TIMES];
    const struct lx_step *steps;
    size_t n_steps;
    const double *device;
    size_t n_device;
    const int64_t *recorded;
    int64_t *work;
    double *ends_ns;
    size_t n_ends;
    int cpus, ends;
};

static struct lx_program
program_of(const struct inputs *in)
{
    return (struct lx_program){
        .operations = in->operations,
        .n_operations = in->n_operations,
        .mappings = in->mappings,
        .n_mappings = in->n_mappings,
        .handles = in->handles,
        .n_handles = in->n_handles,
        .files = in->files,
        .n_files = in->n_files,
        .extents = in->extents,
        .n_extents = in->n_extents,
        .group = in->group,
        .n_groups = in->n_groups,
    };
}

/* Zeroed memory, aligned for any record; 0 without memory. */
EXPORT(allocate)
void *
allocate(size_t bytes)
{
    return calloc(bytes ? bytes : 1, 1);
}

EXPORT(release)
void
release(void *memory)
{
    free(memory);
}

/*
 * Fill a column of records of ``stride`` bytes from ``planes``: the first bytes of all rows, then
 * the second ones, and so on up to ``size``. ``is_delta``: each row adds to the one before it.
 */
EXPORT(unpack)
void
unpack(const uint8_t *planes, size_t rows, size_t size, int is_delta, uint8_t *to, size_t stride)
{
    uint64_t before = 0;
    for (size_t row = 0; row < rows; row++) {
        uint64_t value = 0;
        for (size_t byte = 0; byte < size; byte++)
            value |= (uint64_t)planes[byte * rows + row] << 8 * byte;
        before = is_delta ? before + value : value;
        memcpy(to + row * stride, &before, size);
    }
}

/* What a window (pages) reads. Negative: an error. */
EXPORT(emulate)
int
emulate(const struct inputs *in, int window, struct counted *counted)
{
    struct lx_program program = program_of(in);
    struct lx_counts counts = {
        .requests = counted->requests, .pages = counted->pages, .log = counted->log};
    int64_t windows = window;
    int error = lx_emulate(&program, in->rules, in->machine, &windows, 1, &counts);
    counted->inserts = counts.inserts;
    counted->n_inserts = counts.n_inserts;
    return error;
}

/* A run in time under a window (pages). Negative: an error. */
EXPORT(replay)
int
replay(const struct inputs *in, int window, struct timed *timed)
{
    struct lx_program program = program_of(in);
    program.group = NULL;
    struct lx_timed_run run = {
        .steps = timed->steps,
        .n_steps = timed->n_steps,
        .tail_ns = timed->tail_ns,
        .cpus = timed->cpus,
        .ends = timed->ends,
        .recorded = timed->recorded,
    };
    struct lx_case one = {.cold_ns = timed->cold_ns,
                          .cold_share = timed->cold_share,
                          .window = window,
                          .n_device = timed->n_device};
    memcpy(one.cost_ns, timed->cost_ns, sizeof(one.cost_ns));
    struct lx_batch batch = {
        .cases = &one, .n_cases = 1, .devices = timed->device, .n_devices = timed->n_device};
    struct lx_timed result = {.times = timed->times,
                              .ends_ns = timed->ends_ns,
                              .n_ends = timed->n_ends,
                              .work = timed->work};
    return lx_replay(&program, in->rules, in->machine, &run, &batch, &result);
}

/* with_plugs of analyzer/program/plug.py: the steps whose faults read wait less for their read. */
EXPORT(spare)
void
spare(const struct inputs *in, const struct lx_step *steps, size_t n, const int64_t *work,
      double unplugged_ns, struct lx_step *to)
{
    memcpy(to, steps, n * sizeof(*to));
    for (size_t row = 0; row < n; row++) {
        int64_t at = steps[row].operation;
        if (at >= 0 && in->operations[at].op == LX_FAULT && work[LX_WORK * row] > 0)
            to[row].cpu_ns = fmax(steps[row].cpu_ns - unplugged_ns, 0);
    }
}
