/* libFuzzer target: the kernel's readahead and the timed replay, and what must hold between them.
 *
 * An input is rules, what the machine, the device and the files are like, and operations of eight
 * bytes each, done by threads; some places and lengths are out of all range.
 */
#include "bytes.h"
#include "core/linux/device.h"
#include "core/linux/program.h"
#include "core/linux/run.h"
#include "core/linux/timed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FILES = 3,
    HANDLES = 4,
    MAPPINGS = 3,
    EXTENTS = 6,
    MAX_OPERATIONS = 200,
    RULES = sizeof(struct lx_rules) / sizeof(int32_t),
    THREADS = 4,
    WINDOWS = 2,
    DEVICE = 1 + LX_STATEFUL_NUMBERS,
    LOAD_STEPS = 2,
    HINTS = 6,
};

struct input {
    struct lx_rules rules;
    struct lx_machine machine;
    struct lx_file files[FILES];
    uint32_t handles[HANDLES], group[FILES];
    struct lx_mapping mappings[MAPPINGS];
    struct lx_extent extents[EXTENTS];
    struct lx_operation operations[MAX_OPERATIONS];
    struct lx_step steps[MAX_OPERATIONS + LOAD_STEPS];
    size_t n, n_extents;
    int64_t windows[WINDOWS], cpus, ends;
    double device[DEVICE];
    size_t n_device;
};

/* How many values each rule has; decode_machine chooses the numbers. */
#define LX_NUMBER 0
static const uint8_t VALUES[RULES] = {
#define COUNT(name, ...) sizeof((int[]){__VA_ARGS__}) / sizeof(int),
    LX_EACH_RULE(COUNT)
#undef COUNT
};

/* A limit: rarely one that is out of range. */
static int64_t
limit(struct bytes *b)
{
    static const int64_t GOOD[] = {1, 2, 4, 16, 32, 320, 512}, BAD[] = {0, -1, INT64_MAX};
    unsigned choice = next(b, 256);
    return choice < 250 ? GOOD[choice % 7] : BAD[choice % 3];
}

static void
decode_machine(struct input *in, struct bytes *b)
{
    int32_t *rules = (int32_t *)&in->rules;
    for (int i = 0; i < RULES; i++)
        rules[i] = (int32_t)next(b, VALUES[i]);
    static const int32_t FOLIOS_KB[] = {0, 4, 64, 2048};
    in->rules.mapped_folio_kb = FOLIOS_KB[next(b, 4)];
    in->machine = (struct lx_machine){
        .page_size = next(b, 50) ? 4096 : 512 << next(b, 8),
        .io_pages = limit(b),
        .fault_around = next(b, 50) ? 16 : limit(b),
        .table_pages = next(b, 50) ? 512 : limit(b),
        .exec_order = next(b, 5),
        .credit_ns = next(b, 2) ? limit(b) : 0,
        .cache_pages = next(b, 2) ? limit(b) : 0,
        .generations = next(b, 2),
        .code_stays = next(b, 2),
        .max_sectors_kb = limit(b),
        .max_segments = limit(b),
        .max_segment_size = 512 * (limit(b) & 0xFFFF),
        .nr_requests = limit(b),
        .nr_writes = limit(b),
        .nr_driver_tags = limit(b),
    };
    for (int i = 0; i < WINDOWS; i++)
        in->windows[i] = (int64_t)next(b, 256) << next(b, 4);
    in->cpus = next(b, 50) ? 1 + next(b, 3) : 0;
    in->ends = next(b, 4) ? -1 : (int64_t)next(b, THREADS);
}

/* A device: seldom one that cannot be. */
static void
decode_device(struct input *in, struct bytes *b)
{
    static const double KINDS[][DEVICE] = {
        {LX_FIXED, 1e6, 5e4, 2e4},
        {LX_PACED, 1000, 5e6, 1e8, 4e6, 1e4, 10, 0},
        {LX_PACED, 1e-3, INFINITY, 1e8, 1, 0, 0, 1e4},
        {LX_PACED, INFINITY, 1e-3, 1e14, 1e14, 0, 0, 0},
        {LX_PACED, 1000, 5e6, 0, 4e6, 1e4, 10, 0},
        {LX_MEASURED, 2, 1, 4, 64, 1e5, 4e5, 3e4, 4e5, 4, 1e5, 3e4},
        {LX_STATEFUL, 1e6, 5e4, 2e4, 1e4, 4e6, 9e3, 1e5, 1e6, 1e5, 2e4, 4, 64, 8, 512, 7},
    };
    static const size_t NUMBERS[] = {4, 8, 8, 8, 8, 12, DEVICE};
    static const double BAD[] = {0, -1, 1e300, 3, NAN, INFINITY, 1e-300, 5e15};
    unsigned kind = next(b, 7);
    memcpy(in->device, KINDS[kind], sizeof(in->device));
    in->n_device = NUMBERS[kind];
    for (size_t i = 1; i < in->n_device; i++) {
        unsigned change = next(b, 256);
        if (change < 250)
            in->device[i] *= kind == 5 || (kind == 6 && i > 10) ? 1 : change / 64.0;
        else
            in->device[i] = BAD[next(b, 8)];
    }
}

static void
decode_files(struct input *in, struct bytes *b)
{
    static const int64_t SIZES[] = {0, 1, 4096, 50000, 1 << 17, 1 << 20, 1 << 24, -1};
    for (uint32_t i = 0; i < FILES; i++) {
        in->files[i] = (struct lx_file){
            .size = SIZES[next(b, 8)] + next(b, 3),
            .large_folios = (uint8_t)next(b, 2),
            .block_pages = next(b, 4) ? 0 : next(b, 40),
            .window = next(b, 8) ? -1 : (int32_t)next(b, 64),
        };
        in->group[i] = i;
    }
    for (int i = 0; i < HANDLES; i++)
        in->handles[i] = next(b, FILES + (next(b, 100) == 99));
    for (int i = 0; i < MAPPINGS; i++)
        in->mappings[i] = (struct lx_mapping){
            .handle = next(b, HANDLES),
            .start = next(b, 64),
            .pages = (uint64_t)next(b, 256) << next(b, 8),
            .address = (uint64_t)next(b, 256) << next(b, 40),
            .flags = (uint8_t)next(b, 32),
        };
    in->n_extents = next(b, EXTENTS + 1);
    uint64_t at = 0;
    for (size_t i = 0; i < in->n_extents; i++) {
        at = i ? at + ((uint64_t)next(b, 16) << next(b, 8)) : 0;
        in->extents[i] = (struct lx_extent){
            .file = i && !next(b, 2) ? in->extents[i - 1].file : (uint32_t)(i * FILES / EXTENTS),
            .at = at,
            .sector = next(b, 20) ? at : UINT64_MAX - next(b, 100),
            .sectors = next(b, 20) ? (uint64_t)next(b, 256) << 3 : UINT64_MAX,
            .read = (uint8_t)next(b, 2),
        };
        if (i && in->extents[i].file < in->extents[i - 1].file)
            in->extents[i].file = in->extents[i - 1].file;
        at += in->extents[i].sectors & 0xFFFFFF;
    }
}

static void
decode_operations(struct input *in, struct bytes *b)
{
    static const uint64_t FAR[] = {1 << 20, UINT64_C(1) << 36, UINT64_C(1) << 47, UINT64_MAX};
    static const double TIMES[] = {0, 0, 10, 3e4, 7e6, 1e14, -1, NAN};
    unsigned left = 3;
    for (in->n = 0; in->n < MAX_OPERATIONS && b->left >= 8; in->n++) {
        unsigned op = next(b, 10), row = next(b, 5), far = next(b, 64);
        uint64_t unit = op == LX_READ ? 512 : 1;
        in->operations[in->n] = (struct lx_operation){
            .op = (uint8_t)op,
            .handle = row,
            .mapping = row % 4,
            .at = far < 60 ? unit * next(b, 256) * (1 + far % 8) : FAR[far % 4],
            .length = far < 62 || !left ? unit * next(b, 256) : FAR[far % 4],
        };
        left -= far >= 62 && left; /* what is huge takes long */
        unsigned thread = next(b, 256), time = next(b, 256);
        in->steps[in->n] = (struct lx_step){
            .operation = thread < 200 ? (int64_t)in->n : -1,
            .cpu_ns = TIMES[time % (time < 250 ? 5 : 8)],
            .sleep_ns = time % 16 ? 0 : TIMES[time / 16 % 5],
            .woken_by = (int64_t)next(b, 255) - 128,
            .waits_for = (int64_t)in->n - (next(b, 50) > 0) - (int64_t)next(b, 255),
            .sector = thread,
            .sectors = thread % 32,
            .bios = thread % 32 / 8,
            .meta = thread & 1,
            .thread = (uint16_t)(thread % THREADS),
        };
        if (in->steps[in->n].waits_for < -1)
            in->steps[in->n].waits_for = -1;
    }
    for (size_t i = 0; i < in->n; i++)
        if (in->steps[i].woken_by < 0 || in->steps[i].woken_by >= (int64_t)in->n)
            in->steps[i].woken_by = -1;
}

static void
fail(const char *what, double a, double b)
{
    fprintf(stderr, "%s: %.17g, %.17g\n", what, a, b);
    abort();
}

static struct lx_program
program_of(const struct input *in, bool by_file)
{
    return (struct lx_program){
        in->operations, in->n,       in->mappings,  MAPPINGS,  in->handles, HANDLES, in->files,
        FILES,          in->extents, in->n_extents, in->group, FILES,       by_file,
    };
}

/* A page after the end of a file, which enters the cache empty: nothing is read for it. */
static bool
is_empty(const struct input *in, const struct lx_insert *insert)
{
    const int64_t size = in->files[insert->file].size;
    return insert->cause == LX_BY_ITSELF &&
           insert->index * (uint64_t)in->machine.page_size >= (uint64_t)size;
}

/* Pages that are read into the cache under one window; -1: refused. */
static int64_t
emulate(const struct input *in, int64_t window, int64_t *requests)
{
    struct lx_program program = program_of(in, false);
    int64_t pages[FILES] = {0}, inserted = 0;
    struct lx_counts counts = {.requests = requests, .pages = pages, .log = true};
    int error = lx_emulate(&program, &in->rules, &in->machine, &window, 1, &counts);
    for (size_t i = 0; i < counts.n_inserts; i++)
        if (!is_empty(in, &counts.inserts[i]))
            inserted += INT64_C(1) << counts.inserts[i].order;
    free(counts.inserts);
    return error ? -1 : inserted;
}

static void
check_sums(const struct input *in, const double *times, const double *ends_ns)
{
    double total = times[LX_TOTAL_NS], computed = times[LX_COMPUTE_NS];
    double waited = times[LX_WAITED_NS], unused = times[LX_BEHIND_NS], slack = 1 + 1e-9 * total;
    if (!(computed + waited <= total + slack))
        fail("computed and waited", computed, waited);
    if (!(unused >= -slack && unused <= waited + slack))
        fail("waited and behind", waited, unused);
    for (size_t i = 0; i < in->n && in->ends == -1; i++)
        if (!(ends_ns[in->steps[i].thread] <= total))
            fail("a thread is not over", (double)in->steps[i].thread, total);
}

/* Replay with threads, after a case under another window too; return the error. */
static int
replay(const struct input *in, int64_t window, int64_t *work, const int64_t *recorded)
{
    struct lx_program program = program_of(in, false);
    double times[LX_TIMES], ends[THREADS], both_times[2 * LX_TIMES], both_ends[2 * THREADS];
    struct lx_timed_run run = {.steps = in->steps,
                               .n_steps = in->n,
                               .tail_ns = 100,
                               .cpus = in->cpus,
                               .ends = in->ends,
                               .recorded = recorded};
    struct lx_case cases[2];
    for (int i = 0; i < 2; i++)
        cases[i] = (struct lx_case){
            .cost_ns = {600, 70, 5}, .window = in->windows[i], .n_device = in->n_device};
    cases[1].window = window;
    struct lx_batch batch = {
        .cases = cases + 1, .n_cases = 1, .devices = in->device, .n_devices = in->n_device};
    struct lx_timed result = {.times = times, .ends_ns = ends, .n_ends = THREADS, .work = work};
    int error = lx_replay(&program, &in->rules, &in->machine, &run, &batch, &result);
    if (error)
        return error;
    check_sums(in, times, ends);
    struct lx_batch both = {
        .cases = cases, .n_cases = 2, .devices = in->device, .n_devices = in->n_device};
    struct lx_timed again = {.times = both_times, .ends_ns = both_ends, .n_ends = THREADS};
    if (lx_replay(&program, &in->rules, &in->machine, &run, &both, &again))
        return LX_OK; /* the other window is refused */
    if (memcmp(times, both_times + LX_TIMES, sizeof(times)) ||
        memcmp(ends, both_ends + THREADS, sizeof(ends)))
        fail("a case differs after another", times[LX_TOTAL_NS], both_times[2 * LX_TIMES - 4]);
    return LX_OK;
}

/*
 * Replay beside a load: a thread of two steps, the first of which may do any operation of the
 * input. ``hints`` say what it is like.
 */
static void
replay_beside(struct input *in, const uint8_t *hints, const int64_t *recorded)
{
    static const double FROM[] = {0, -1e6, 3e5, NAN}, LONG[] = {1e5, 2e6, 1e7, -1};
    struct lx_program program = program_of(in, false);
    double times[LX_TIMES], ends[THREADS + 1];
    unsigned kind = hints[0];
    for (size_t i = 0; i < LOAD_STEPS; i++)
        in->steps[in->n + i] = (struct lx_step){
            .operation = i || !in->n || kind % 2 ? -1 : (int64_t)(hints[1] % in->n),
            .cpu_ns = hints[2] * 1e3,
            .sleep_ns = hints[3] % 4 ? 0 : 1e4,
            .waits_for = -1,
            .woken_by = kind == 255 ? 0 : -1,
            .sector = hints[3],
            .sectors = hints[4],
            .bios = 1 + hints[4] % 3,
            .meta = hints[5] & 15,
            .thread = THREADS,
        };
    struct lx_repeat repeat = {.from_ns = FROM[kind / 2 % 16 < 15 ? kind / 2 % 3 : 3],
                               .stride = kind / 64 ? 8 : UINT64_C(1) << hints[3] % 25,
                               .span = kind / 32 % 2 ? (uint64_t)hints[1] << hints[2] % 40 : 0,
                               .thread = THREADS};
    repeat.until_ns = repeat.from_ns + LONG[kind / 8 % 16 < 15 ? kind / 8 % 3 : 3];
    struct lx_timed_run run = {.steps = in->steps,
                               .n_steps = in->n + LOAD_STEPS,
                               .repeats = &repeat,
                               .n_repeats = 1,
                               .tail_ns = 100,
                               .cpus = in->cpus,
                               .ends = in->ends,
                               .recorded = recorded,
                               .n_recorded = in->n};
    struct lx_case one = {
        .cost_ns = {600, 70, 5}, .window = in->windows[0], .n_device = in->n_device};
    struct lx_batch batch = {
        .cases = &one, .n_cases = 1, .devices = in->device, .n_devices = in->n_device};
    struct lx_timed result = {.times = times, .ends_ns = ends, .n_ends = THREADS + 1};
    if (!lx_replay(&program, &in->rules, &in->machine, &run, &batch, &result))
        check_sums(in, times, ends);
}

/* One thread that does all operations in order reads what the emulation without time does. */
static void
check_one_thread(struct input *in, int64_t window)
{
    int64_t work[LX_WORK * MAX_OPERATIONS], requests[FILES] = {0}, sent = 0, pages = 0, counted = 0;
    bool blocks = false;
    for (size_t i = 0; i < in->n; i++)
        in->steps[i] =
            (struct lx_step){.operation = (int64_t)i, .cpu_ns = 5, .waits_for = -1, .woken_by = -1};
    in->cpus = 1;
    in->ends = -1;
    in->device[0] = LX_FIXED;
    in->device[1] = in->device[2] = in->device[3] = 1;
    in->n_device = 4;
    for (int i = 0; i < FILES; i++)
        blocks |= in->files[i].block_pages;
    int64_t inserted = emulate(in, window, requests);
    int error = replay(in, window, work, NULL);
    /* A block may be too large for any device, and only the replay keeps all requests. */
    if (error && inserted >= 0 && (blocks || error == LX_NO_MEMORY))
        return;
    if (!error != (inserted >= 0))
        fail("refused by one only", (double)inserted, error);
    /* While a page is being read, it is not reclaimed: only the replay knows for how long. */
    if (in->machine.cache_pages)
        return;
    for (size_t i = 0; i < in->n && inserted >= 0; i++) {
        sent += work[LX_WORK * i];
        pages += work[LX_WORK * i + 1];
    }
    for (int i = 0; i < FILES; i++)
        counted += requests[i];
    /* Of compressed blocks only what is in the file counts; their requests are the blocks'. */
    if (inserted >= 0 && (blocks ? pages > inserted : pages != inserted))
        fail("pages", (double)pages, (double)inserted);
    if (inserted >= 0 && !blocks && sent != counted)
        fail("requests", (double)sent, (double)counted);
}

/* Inputs, and those that were replayed. A target whose inputs are all refused would find nothing.
 */
static struct {
    size_t inputs, replayed;
} tried;

__attribute__((destructor)) static void
check_tried(void)
{
    if (tried.inputs > 1000 && tried.replayed < tried.inputs / 100)
        fail("too few inputs were replayed", (double)tried.replayed, (double)tried.inputs);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct input in;
    struct bytes bytes = {.at = data, .left = size};
    int64_t work[LX_WORK * MAX_OPERATIONS], recorded[LX_WORK * MAX_OPERATIONS];
    memset(&in, 0, sizeof(in));
    decode_machine(&in, &bytes);
    decode_device(&in, &bytes);
    decode_files(&in, &bytes);
    decode_operations(&in, &bytes);
    tried.inputs++;
    if (!replay(&in, 0, recorded, NULL)) {
        tried.replayed++;
        replay(&in, in.windows[0], work, recorded);
        if (size >= HINTS)
            replay_beside(&in, data + size - HINTS, recorded);
    }
    check_one_thread(&in, in.windows[1]);
    return 0;
}
