/* libFuzzer target: the ring-buffer walk and the decoding of its records.
 *
 * Input: 4 bytes that choose the layout, then sub-buffers. Built with -fsanitize=fuzzer,address,
 * undefined; the data is copied to the heap, so that one byte too far is a finding.
 */
#include "ring_walk.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 4, MAX_ROWS = 1 << 16 };

#define NUMBER(from, bytes) {.offset = from, .size = bytes}

/* An insert (length 37) and a block event, with ids small enough for the fuzzer to find. */
static struct ev_spec specs_of[2] = {
    {.id = 1,
     .kind = 1,
     .length = 37,
     .pid = {.offset = 4, .size = 4, .is_signed = 1},
     .numeric = {NUMBER(32, 4), NUMBER(16, 8), NUMBER(24, 8), NUMBER(36, 1)}},
    {.id = 600,
     .kind = 9,
     .length = 44,
     .pid = {.offset = 4, .size = 4, .is_signed = 1},
     .numeric = {NUMBER(8, 4), {0}, NUMBER(16, 8), NUMBER(24, 4)},
     .rwbs = NUMBER(34, 10)},
};

static void
check_same(const struct ring_found *a, const struct ring_found *b)
{
    assert(a->records == b->records && a->lost == b->lost && a->gaps == b->gaps);
    assert(a->offset == b->offset);
}

static void
decode(const struct ev_specs *specs, struct ev_data data, struct ev_place *places, uint64_t n)
{
    static uint64_t wide[4][MAX_ROWS];
    static uint32_t dev[MAX_ROWS];
    static int32_t pid[MAX_ROWS];
    static uint16_t cpu[MAX_ROWS], flags[MAX_ROWS];
    static uint8_t kind[MAX_ROWS];
    struct ev_columns columns = {.time_ns = wide[0],
                                 .cpu = cpu,
                                 .kind = kind,
                                 .pid = pid,
                                 .dev = dev,
                                 .ino = wide[1],
                                 .index = wide[2],
                                 .value = wide[3],
                                 .flags = flags,
                                 .capacity = MAX_ROWS};
    const uint64_t starts[2] = {0, n};
    struct ev_runs runs = {.places = places, .n_places = n, .starts = starts, .n = 1};

    assert(ev_sort_runs(&runs) == EV_OK);
    int ret = ev_decode(specs, data, &runs, &columns, 0);
    assert(ret == EV_OK || ret == EV_ERR_SHORT_RECORD);
}

int
LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    static const uint32_t SIZES[4] = {64, 256, 4096, 65536};
    static struct ev_specs specs;
    struct ring_found counted, found;

    if (size < HEAD)
        return 0;
    uint8_t long_size = input[0] & 1 ? 4 : 8;
    struct ring_layout layout = {.subbuf_size = SIZES[input[1] & 3],
                                 .data_offset = 8U + long_size + (input[2] & 8),
                                 .commit_size = long_size};
    size_t length = size - HEAD;
    if (input[0] & 4)
        length -= length % layout.subbuf_size;
    uint8_t *bytes = malloc(length + 1);
    struct ev_place *places = malloc(MAX_ROWS * sizeof(*places));
    memcpy(bytes, input + HEAD, length);
    struct ev_data data = {.bytes = bytes, .size = length};
    struct ring_stream stream = {.size = length, .cpu = 3};

    assert(ev_specs_init(&specs, specs_of, 2, input[0] & 2) == EV_OK);
    int ret = ring_walk(&layout, &specs, data, &stream, NULL, 0, &counted);
    int again = ring_walk(&layout, &specs, data, &stream, places, MAX_ROWS, &found);
    assert(ret == again);
    check_same(&counted, &found);
    if (ret == EV_OK)
        decode(&specs, data, places, found.records);
    if (counted.records > 0) {
        again = ring_walk(&layout, &specs, data, &stream, places, counted.records - 1, &found);
        assert(again == EV_ERR_CAPACITY);
    }
    free(places);
    free(bytes);
    return 0;
}
