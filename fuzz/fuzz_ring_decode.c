/* libFuzzer target: merged decoding block by block against walk, sort and decode in one piece.
 *
 * Input: 4 bytes that choose layout and byte order, then sub-buffers, shared out among 3 CPUs;
 * or, for packed data, counted chunks for one CPU.
 */
#include "ring_decode.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 4, MAX_ROWS = 1 << 14, CPUS = 3, SUBBUF = 256, MAX_EXPANDED = 1 << 20 };

#define NUMBER(from, bytes) {.offset = from, .size = bytes}

static const struct ev_spec SPECS[2] = {
    {.id = 1,
     .kind = 1,
     .length = 37,
     .pid = {.offset = 4, .size = 4, .is_signed = 1},
     .numeric = {NUMBER(32, 4), NUMBER(16, 8), NUMBER(24, 8), NUMBER(36, 1)}},
    {.id = 600, .kind = 9, .length = 8, .pid = {.offset = 4, .size = 4, .is_signed = 1}},
};

struct rows {
    uint64_t wide[4][MAX_ROWS];
    uint32_t dev[MAX_ROWS];
    int32_t pid[MAX_ROWS];
    uint16_t cpu[MAX_ROWS], flags[MAX_ROWS];
    uint8_t kind[MAX_ROWS];
};

static struct ev_columns
columns_of(struct rows *r)
{
    return (struct ev_columns){r->wide[0], r->cpu,     r->kind,    r->pid,   r->dev,
                               r->wide[1], r->wide[2], r->wide[3], r->flags, MAX_ROWS};
}

static void
check_equal(const struct rows *a, const struct rows *b, size_t n)
{
    for (int i = 0; i < 4; i++)
        assert(memcmp(a->wide[i], b->wide[i], n * 8) == 0);
    assert(memcmp(a->dev, b->dev, n * 4) == 0 && memcmp(a->pid, b->pid, n * 4) == 0);
    assert(memcmp(a->cpu, b->cpu, n * 2) == 0 && memcmp(a->flags, b->flags, n * 2) == 0);
    assert(memcmp(a->kind, b->kind, n) == 0);
}

/* The slow way; returns the number of rows or an error. */
static int64_t
in_one_piece(const struct ev_specs *specs, struct ev_data data, const struct ring_source *sources,
             struct ev_columns *columns)
{
    static struct ev_place places[MAX_ROWS];
    uint64_t starts[CPUS + 1] = {0};
    struct ev_runs runs = {.places = places, .starts = starts, .n = CPUS};

    for (int i = 0; i < CPUS; i++) {
        uint64_t at = (uint64_t)(sources[i].data.bytes - data.bytes);
        struct ring_stream stream = {
            .offset = at, .size = sources[i].data.size, .cpu = sources[i].cpu};
        struct ring_found found;
        int ret = ring_walk(&sources[i].layout, specs, data, &stream, places + starts[i],
                            MAX_ROWS - starts[i], &found);
        if (ret != EV_OK)
            return ret;
        assert(found.lost == sources[i].lost && found.gaps == sources[i].gaps);
        starts[i + 1] = starts[i] + found.records;
    }
    runs.n_places = starts[CPUS];
    int ret = ev_sort_runs(&runs);
    if (ret == EV_OK)
        ret = ev_decode(specs, data, &runs, columns, 0);
    return ret == EV_OK ? (int64_t)runs.n_places : ret;
}

static void
plain(const struct ev_specs *specs, struct ev_data data, struct ring_layout layout)
{
    static struct rows fast, slow;
    struct ev_columns columns = columns_of(&fast), slow_columns = columns_of(&slow);
    struct ring_source sources[CPUS] = {0};
    size_t rows, failed, share = data.size / SUBBUF / CPUS * SUBBUF;

    for (int i = 0; i < CPUS; i++) {
        size_t size = i + 1 < CPUS ? share : data.size - (CPUS - 1) * share;
        sources[i] =
            (struct ring_source){.data = {.bytes = data.bytes + (size_t)i * share, .size = size},
                                 .layout = layout,
                                 .cpu = (uint16_t)i};
    }
    int ret = ring_decode(specs, sources, CPUS, &columns, &rows, &failed);
    assert(failed <= CPUS && rows <= MAX_ROWS);
    if (ret != EV_OK)
        return;
    int64_t expected = in_one_piece(specs, data, sources, &slow_columns);
    assert(expected == (int64_t)rows);
    check_equal(&fast, &slow, rows);
}

static void
packed(const struct ev_specs *specs, struct ev_data data, struct ring_layout layout)
{
    static struct rows fast;
    struct ev_columns columns = columns_of(&fast);
    struct ring_source source = {
        .data = data, .packed = true, .method = INF_ZLIB, .layout = layout, .cpu = 1};
    size_t rows, failed;
    uint64_t expanded = 0;

    if (inf_chunks_size(data, specs->swap, &expanded) == EV_OK && expanded <= MAX_EXPANDED)
        (void)ring_decode(specs, &source, 1, &columns, &rows, &failed);
}

int
LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    static struct ev_specs specs;

    if (size < HEAD)
        return 0;
    uint8_t long_size = input[0] & 1 ? 4 : 8;
    struct ring_layout layout = {
        .subbuf_size = SUBBUF, .data_offset = 8U + long_size, .commit_size = long_size};
    size_t length = size - HEAD;
    if (!(input[0] & 8))
        length -= length % SUBBUF;
    uint8_t *bytes = malloc(length + 1);
    memcpy(bytes, input + HEAD, length);
    struct ev_data data = {.bytes = bytes, .size = length};
    assert(ev_specs_init(&specs, SPECS, 2, input[0] & 2) == EV_OK);
    if (input[0] & 8)
        packed(&specs, data, layout);
    else
        plain(&specs, data, layout);
    free(bytes);
    return 0;
}
