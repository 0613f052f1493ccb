/* libFuzzer target: the ring and perf readers with arbitrary events, layouts, streams and places.
 *
 * The other targets vary the data and keep the description of it. Here an input first describes
 * fields, sub-buffers, samples and places, nearly all of them impossible; the rest is the data,
 * which may be empty and then has no address. A description is refused, or all reads stay in
 * bounds.
 */
#include "bytes.h"
#include "fields.h"
#include "perf_walk.h"
#include "ring_decode.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SPECS = 4, PLACES = 64, CPUS = 3, LAYOUTS = 3, RUNS = 3, IDS = 4, ROWS = 1 << 12 };

/* A number of any size: mostly small, sometimes near the limit of its type. */
static uint64_t
number(struct bytes *b, uint64_t most)
{
    unsigned kind = next(b, 8);
    uint64_t small = next(b, 256);

    if (kind < 5)
        return small % (most == UINT64_MAX ? most : most + 1);
    if (kind < 7)
        return (small << next(b, 56)) & most;
    return most - (small % 8 < most ? small % 8 : 0);
}

static struct ev_field
any_field(struct bytes *b)
{
    static const uint8_t SIZES[] = {0, 1, 2, 4, 8, 3, 16, 255};

    return (struct ev_field){.offset = (uint16_t)number(b, next(b, 4) ? 63 : UINT16_MAX),
                             .size = SIZES[next(b, next(b, 8) ? 5 : 8)],
                             .is_signed = (uint8_t)next(b, 2)};
}

static struct ev_spec
any_spec(struct bytes *b)
{
    struct ev_spec spec = {.id = (uint16_t)number(b, next(b, 4) ? 3 : UINT16_MAX),
                           .kind = (uint8_t)next(b, 256),
                           .length = (uint16_t)number(b, next(b, 4) ? 80 : UINT16_MAX),
                           .pid = any_field(b),
                           .rwbs = any_field(b)};

    for (int i = 0; i < EV_NUMERIC; i++)
        spec.numeric[i] = any_field(b);
    return spec;
}

static struct ring_layout
any_layout(struct bytes *b)
{
    static const uint8_t LONGS[] = {4, 8, 0, 1, 2, 16};

    return (struct ring_layout){.subbuf_size = (uint32_t)number(b, next(b, 4) ? 255 : UINT32_MAX),
                                .data_offset = (uint32_t)number(b, next(b, 4) ? 40 : UINT32_MAX),
                                .commit_size = LONGS[next(b, next(b, 8) ? 2 : 6)]};
}

struct rows {
    uint64_t wide[4][ROWS];
    uint32_t dev[ROWS];
    int32_t pid[ROWS];
    uint16_t cpu[ROWS], flags[ROWS];
    uint8_t kind[ROWS];
};

static struct ev_columns
columns_of(size_t capacity)
{
    static struct rows r;

    return (struct ev_columns){r.wide[0], r.cpu,     r.kind,    r.pid,   r.dev,
                               r.wide[1], r.wide[2], r.wide[3], r.flags, capacity};
}

static void
walk_streams(struct bytes *b, const struct ev_specs *specs, struct ev_data data)
{
    struct ev_place *places = malloc(PLACES * sizeof(*places));
    struct ring_layout layout = any_layout(b);
    struct ring_stream stream = {.offset = number(b, next(b, 2) ? data.size : UINT64_MAX),
                                 .size = number(b, next(b, 2) ? data.size : UINT64_MAX),
                                 .cpu = (uint16_t)number(b, UINT16_MAX)};
    struct ring_found counted, found;
    int ret = ring_walk(&layout, specs, data, &stream, NULL, 0, &counted);
    size_t capacity = next(b, PLACES + 1);
    int again = ring_walk(&layout, specs, data, &stream, places, capacity, &found);

    assert(found.records <= counted.records + 1);
    if (counted.records <= capacity)
        assert(ret == again && counted.records == found.records);
    if (again == EV_OK) {
        const uint64_t starts[2] = {0, found.records};
        struct ev_runs runs = {
            .places = places, .n_places = found.records, .starts = starts, .n = 1};
        struct ev_columns columns = columns_of(ROWS);
        assert(ev_sort_runs(&runs) == EV_OK);
        ret = ev_decode(specs, data, &runs, &columns, next(b, 8));
        assert(ret == EV_OK || ret == EV_ERR_SHORT_RECORD);
    }
    free(places);
}

static void
decode_sources(struct bytes *b, const struct ev_specs *specs, struct ev_data data)
{
    struct ring_source sources[CPUS] = {0};
    struct ev_columns columns = columns_of(number(b, ROWS));
    size_t rows = 0, failed = 0, n = next(b, CPUS + 1);

    for (size_t i = 0; i < n; i++) {
        size_t at = number(b, data.size), size = number(b, data.size - at);
        uint64_t expanded = 0;
        sources[i] = (struct ring_source){.data = {.bytes = ev_at(data, at), .size = size},
                                          .packed = next(b, 4) == 0,
                                          .method = (enum inf_method)next(b, 3),
                                          .layout = any_layout(b),
                                          .cpu = (uint16_t)next(b, 256)};
        /* The caller limits what chunks expand to. */
        if (inf_chunks_size(sources[i].data, specs->swap, &expanded) != EV_OK || expanded > 1 << 20)
            sources[i].packed = false;
    }
    int ret = ring_decode(specs, sources, n, &columns, &rows, &failed);
    assert(rows <= columns.capacity || ret != EV_OK);
    assert(n == 0 || failed < n);
}

/* Places that no walk has noted: of any record, in runs of any bounds. */
static void
decode_places(struct bytes *b, const struct ev_specs *specs, struct ev_data data)
{
    struct ev_place places[PLACES];
    uint64_t starts[RUNS + 1], numbers[PLACES];
    struct ev_columns columns = columns_of(number(b, ROWS));
    size_t n = next(b, PLACES + 1);

    for (size_t i = 0; i < n; i++)
        places[i] = (struct ev_place){.time_ns = number(b, UINT64_MAX),
                                      .offset = number(b, next(b, 4) ? data.size : UINT64_MAX),
                                      .size = (uint32_t)number(b, next(b, 4) ? 127 : UINT32_MAX),
                                      .cpu = (uint16_t)next(b, 256),
                                      .spec = (uint16_t)number(b, next(b, 4) ? 3 : UINT16_MAX)};
    for (int i = 0; i <= RUNS; i++)
        starts[i] = number(b, next(b, 4) ? n : UINT64_MAX);
    starts[0] = next(b, 8) ? 0 : starts[0];
    starts[RUNS] = next(b, 8) ? n : starts[RUNS];
    struct ev_runs runs = {
        .places = n > 0 ? places : NULL, .n_places = n, .starts = starts, .n = RUNS};
    (void)ev_field_numbers(data, places, n, any_field(b), specs->swap, numbers);
    for (size_t i = 0; i < n; i++) {
        struct ev_string_field field = {.offset = (uint16_t)number(b, UINT16_MAX),
                                        .size = (uint16_t)number(b, UINT16_MAX),
                                        .storage = (enum ev_string)next(b, 3)};
        const uint8_t *bytes = NULL;
        size_t length = 0;
        if (ev_field_string(data, &places[i], &field, specs->swap, &bytes, &length) == EV_OK &&
            length > 0)
            assert(bytes >= data.bytes && bytes + length <= data.bytes + data.size);
    }
    if (ev_sort_runs(&runs) == EV_OK)
        (void)ev_decode(specs, data, &runs, &columns, number(b, SIZE_MAX));
}

static struct perf_layout
any_sample(struct bytes *b)
{
    uint64_t most = next(b, 4) ? 64 : UINT16_MAX;

    return (struct perf_layout){.wanted = (uint16_t)(next(b, 8) > 0),
                                .time = (uint16_t)number(b, most),
                                .cpu = (uint16_t)number(b, most),
                                .fixed_end = (uint16_t)number(b, most),
                                .read_bytes = (uint16_t)number(b, most),
                                .read_entry = (uint16_t)number(b, most),
                                .callchain = (uint16_t)next(b, 2),
                                .tail_cpu = (uint16_t)number(b, most)};
}

static void
walk_samples(struct bytes *b, const struct ev_specs *specs, struct ev_data data)
{
    struct perf_layout layouts[LAYOUTS];
    uint64_t ids[IDS], events[CPUS] = {0}, lost[CPUS] = {0}, free_at[CPUS], limit[CPUS];
    uint64_t side[PLACES];
    uint16_t id_layouts[IDS];
    struct ev_place places[PLACES];

    for (int i = 0; i < LAYOUTS; i++)
        layouts[i] = any_sample(b);
    for (int i = 0; i < IDS; i++) {
        ids[i] = number(b, UINT64_MAX);
        id_layouts[i] = (uint16_t)next(b, LAYOUTS + 1);
    }
    struct perf_shape shape = {.layouts = layouts,
                               .n_layouts = next(b, LAYOUTS + 1),
                               .ids = ids,
                               .id_layouts = id_layouts,
                               .n_ids = next(b, IDS + 1),
                               .sample_id = (uint16_t)number(b, UINT16_MAX),
                               .specs = specs};
    struct perf_tally tally = {.events = events, .lost = lost, .n_cpus = next(b, CPUS + 1)};
    if (perf_count(&shape, data, &tally) == EV_OK)
        assert(tally.end <= data.size);
    for (int i = 0; i < CPUS; i++) {
        free_at[i] = number(b, next(b, 4) ? PLACES : UINT64_MAX);
        limit[i] = number(b, next(b, 4) ? PLACES : UINT64_MAX);
    }
    struct perf_room room = {.places = places,
                             .n_places = next(b, PLACES + 1),
                             .next = free_at,
                             .limit = limit,
                             .n_cpus = tally.n_cpus,
                             .side = side,
                             .n_side = next(b, PLACES + 1)};
    (void)perf_places(&shape, data, &room);
}

int
LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    static void (*const PARTS[])(struct bytes *, const struct ev_specs *, struct ev_data) = {
        walk_streams, decode_sources, decode_places, walk_samples};
    static struct ev_specs specs;
    struct ev_spec items[SPECS];
    struct bytes b = {.at = input, .left = size};
    unsigned part = next(&b, 4), swap = next(&b, 2), n = next(&b, SPECS + 1);
    size_t described = (size_t)next(&b, 256) * 4;

    for (unsigned i = 0; i < n; i++)
        items[i] = any_spec(&b);
    if (ev_specs_init(&specs, n > 0 ? items : NULL, n, swap != 0) != EV_OK)
        return 0;
    size_t keep = b.left < described ? b.left : described, left = b.left - keep;
    uint8_t *copy = left > 0 ? malloc(left) : NULL; /* one byte too far is a finding */
    if (left > 0)
        memcpy(copy, b.at + keep, left);
    b.left = keep;
    PARTS[part](&b, &specs, (struct ev_data){.bytes = copy, .size = left});
    free(copy);
    return 0;
}
