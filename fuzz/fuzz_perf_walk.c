/* libFuzzer target: the walk over perf records, zstd included, and decoding what it finds.
 *
 * Input: 2 bytes that choose byte order and layouts, then records. The data is copied to the
 * heap, so that one byte too far is a finding.
 */
#include "fields.h"
#include "perf_inflate.h"
#include "perf_walk.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 2, CPUS = 8, MAX_INFLATED = 1 << 20 };

#define NUMBER(from, bytes) {.offset = from, .size = bytes}

/* An insert and a block event with the ids of the seeds (tests/analyzer/ingest/data/perf). */
static const struct ev_spec SPECS[] = {
    {.id = 600,
     .kind = 1,
     .length = 37,
     .pid = {.offset = 4, .size = 4, .is_signed = 1},
     .numeric = {NUMBER(32, 4), NUMBER(16, 8), NUMBER(24, 8), NUMBER(36, 1)}},
    {.id = 2107,
     .kind = 10,
     .length = 44,
     .pid = {.offset = 4, .size = 4, .is_signed = 1},
     .numeric = {NUMBER(8, 4), {0}, NUMBER(16, 8), NUMBER(24, 4)},
     .rwbs = NUMBER(34, 10)},
};

/* What perf record -a gives; with -g; with a group's READ; and one that is not wanted. */
static const struct perf_layout LAYOUTS[] = {
    {.wanted = 1, .time = 32, .cpu = 40, .fixed_end = 56, .tail_cpu = 16},
    {.wanted = 1, .time = 32, .cpu = 40, .fixed_end = 56, .callchain = 1, .tail_cpu = 16},
    {.wanted = 1, .time = 32, .cpu = 40, .fixed_end = 56, .read_bytes = 8, .read_entry = 16},
    {.wanted = 0},
};
static const uint64_t IDS[] = {290, 291, 292, 293, 294, 295, 296, 297};
static const uint16_t ID_LAYOUTS[] = {0, 0, 1, 1, 2, 2, 3, 3};

static void
decode(const struct ev_specs *specs, struct ev_data data, struct ev_runs *runs)
{
    size_t n = runs->n_places + 1;
    uint64_t *wide = malloc(5 * n * sizeof(*wide));
    uint32_t *narrow = malloc(5 * n * sizeof(*narrow));
    struct ev_columns columns = {.time_ns = wide,
                                 .cpu = (uint16_t *)narrow,
                                 .kind = (uint8_t *)(narrow + n),
                                 .pid = (int32_t *)(narrow + 2 * n),
                                 .dev = narrow + 3 * n,
                                 .ino = wide + n,
                                 .index = wide + 2 * n,
                                 .value = wide + 3 * n,
                                 .flags = (uint16_t *)(narrow + 4 * n),
                                 .capacity = runs->n_places};
    const struct ev_string_field comm = {.offset = 8, .storage = EV_DATA_LOC};

    assert(ev_sort_runs(runs) == EV_OK);
    assert(ev_decode(specs, data, runs, &columns, 0) == EV_OK);
    for (size_t i = 1; i < runs->n_places; i++)
        assert(wide[i - 1] <= wide[i]);
    for (size_t i = 0; i < runs->n_places; i++) {
        const uint8_t *bytes;
        size_t length;
        if (ev_field_string(data, &runs->places[i], &comm, specs->swap, &bytes, &length) == EV_OK)
            assert(bytes + length <= data.bytes + data.size);
    }
    free(narrow);
    free(wide);
}

static void
walk(const struct perf_shape *shape, struct ev_data data)
{
    uint64_t events[CPUS] = {0}, lost[CPUS] = {0}, next[CPUS], limit[CPUS], starts[CPUS + 1] = {0};
    struct perf_tally tally = {.events = events, .lost = lost, .n_cpus = CPUS};

    assert(perf_count(shape, data, &tally) == EV_OK);
    assert(tally.end <= data.size && (tally.stop != PERF_END || tally.end == data.size));
    for (int cpu = 0; cpu < CPUS; cpu++) {
        next[cpu] = starts[cpu];
        limit[cpu] = starts[cpu + 1] = starts[cpu] + events[cpu];
    }
    size_t n = (size_t)starts[CPUS];
    struct ev_place *places = malloc((n + 1) * sizeof(*places));
    uint64_t *side = malloc((tally.side + 1) * sizeof(*side));
    struct perf_room room = {.places = places,
                             .n_places = n,
                             .next = next,
                             .limit = limit,
                             .n_cpus = CPUS,
                             .side = side,
                             .n_side = (size_t)tally.side};
    assert(perf_places(shape, data, &room) == EV_OK);
    for (int cpu = 0; cpu < CPUS; cpu++)
        assert(next[cpu] == limit[cpu]);
    struct ev_runs runs = {.places = places, .n_places = n, .starts = starts, .n = CPUS};
    decode(shape->specs, data, &runs);
    free(side);
    free(places);
}

static void
inflate_and_walk(const struct perf_shape *shape, struct ev_data data)
{
    struct perf_sink counted = {.capacity = MAX_INFLATED}, filled;
    int ret = perf_inflate(data, shape->specs->swap, &counted);

    filled = (struct perf_sink){.out = malloc(counted.filled + 1), .capacity = counted.filled + 1};
    if (ret != EV_ERR_CAPACITY) {
        int again = perf_inflate(data, shape->specs->swap, &filled);
        assert((again == EV_OK) == (ret == EV_OK));
        assert(filled.filled == counted.filled);
        walk(shape, (struct ev_data){filled.out, filled.filled});
    }
    free(filled.out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    static struct ev_specs specs;

    if (size < HEAD)
        return 0;
    assert(ev_specs_init(&specs, SPECS, 2, input[0] & 1) == EV_OK);
    size_t n_ids = input[0] & 2 ? 8 : 0;
    struct perf_shape shape = {
        LAYOUTS + (n_ids ? 0 : input[1] & 3), n_ids ? 4 : 1, IDS, ID_LAYOUTS, n_ids, 8, &specs};
    uint8_t *bytes = malloc(size - HEAD + 1);
    memcpy(bytes, input + HEAD, size - HEAD);
    uint8_t *exact = realloc(bytes, size - HEAD > 0 ? size - HEAD : 1);
    struct ev_data data = {exact, size - HEAD};
    if (input[0] & 4)
        inflate_and_walk(&shape, data);
    else
        walk(&shape, data);
    free(exact);
    return 0;
}
