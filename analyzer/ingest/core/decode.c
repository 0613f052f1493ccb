/* strnlen, beyond C11 */
#define _DEFAULT_SOURCE
#include "decode.h"
#include "merge.h"

#include <stdlib.h>
#include <string.h>

/* Rwbs of tables.py */
enum { READ = 1, WRITE = 2, AHEAD = 4, META = 8, SYNC = 16, FLUSH = 32, DISCARD = 64, OTHER = 128 };

/* blk_fill_rwbs, kernel/trace/blktrace.c; E is a secure erase, N neither read nor write. */
static uint16_t
rwbs_letter(uint8_t letter)
{
    switch (letter) {
    case 'R':
        return READ;
    case 'W':
        return WRITE;
    case 'A':
        return AHEAD;
    case 'M':
        return META;
    case 'S':
        return SYNC;
    case 'F':
        return FLUSH;
    case 'D':
    case 'E':
        return DISCARD;
    default:
        return OTHER;
    }
}

uint16_t
ev_rwbs(const uint8_t *letters, size_t size)
{
    uint16_t bits = 0;

    for (size_t i = 0; i < size && letters[i] != 0; i++)
        bits |= rwbs_letter(letters[i]);
    return bits;
}

static bool
field_fits(struct ev_field field, uint16_t length, bool is_number)
{
    unsigned size = field.size;

    if (is_number && size != 0 && size != 1 && size != 2 && size != 4 && size != 8)
        return false;
    return (unsigned)field.offset + size <= length;
}

static bool
spec_fits(const struct ev_spec *spec)
{
    bool fits = field_fits(spec->pid, spec->length, true);

    for (int i = 0; i < EV_NUMERIC; i++)
        fits = fits && field_fits(spec->numeric[i], spec->length, true);
    return fits && field_fits(spec->rwbs, spec->length, false);
}

int
ev_specs_init(struct ev_specs *specs, const struct ev_spec *items, size_t n, bool swap)
{
    if (n > INT16_MAX)
        return EV_ERR_SPEC;
    specs->items = items;
    specs->n = n;
    specs->swap = swap;
    memset(specs->by_id, 0xff, sizeof(specs->by_id));
    for (size_t i = 0; i < n; i++) {
        if (!spec_fits(&items[i]) || specs->by_id[items[i].id] >= 0)
            return EV_ERR_SPEC;
        specs->by_id[items[i].id] = (int16_t)i;
    }
    return EV_OK;
}

static int
heap_alloc(struct ev_heap *heap, const struct ev_runs *runs)
{
    heap->n = 0;
    heap->items = malloc((runs->n + 1) * sizeof(*heap->items));
    if (heap->items == NULL)
        return EV_ERR_NO_MEMORY;
    for (size_t i = 0; i < runs->n; i++) {
        const struct ev_place *start = runs->places + runs->starts[i];
        const struct ev_place *end = runs->places + runs->starts[i + 1];
        if (start < end)
            heap->items[heap->n++] = (struct ev_cursor){start, end, i};
    }
    for (size_t i = heap->n / 2; i-- > 0;)
        ev_sift_down(heap, i);
    return EV_OK;
}

static void
heap_free(struct ev_heap *heap)
{
    free(heap->items);
    heap->items = NULL;
}

static inline int
decode_all(struct ev_decoder *d, struct ev_heap *heap, bool swap)
{
    int ret = EV_OK;

    while (heap->n > 0 && ret == EV_OK) {
        ret = ev_decode_stretch(d, heap, swap);
        if (heap->items[0].next == heap->items[0].end)
            heap->items[0] = heap->items[--heap->n];
        if (heap->n > 0)
            ev_sift_down(heap, 0);
    }
    return ret;
}

int
ev_decode(const struct ev_specs *specs, struct ev_data data, const struct ev_runs *runs,
          struct ev_columns *columns, size_t first_row)
{
    struct ev_decoder d = {specs, data, columns, first_row};
    struct ev_heap heap = {NULL, 0};
    int ret;

    if (!ev_runs_valid(runs))
        return EV_ERR_RUNS;
    if (first_row > columns->capacity || runs->n_places > columns->capacity - first_row)
        return EV_ERR_CAPACITY;
    ret = heap_alloc(&heap, runs);
    if (ret == EV_OK) /* two copies of the loop: the common one swaps nothing */
        ret = specs->swap ? decode_all(&d, &heap, true) : decode_all(&d, &heap, false);
    heap_free(&heap);
    return ret;
}

static int
record_of(struct ev_data data, const struct ev_place *place, unsigned length,
          const uint8_t **record)
{
    if (place->offset > data.size || place->size > data.size - place->offset)
        return EV_ERR_BOUNDS;
    if (place->size < length)
        return EV_ERR_SHORT_RECORD;
    *record = data.bytes + place->offset;
    return EV_OK;
}

int
ev_field_numbers(struct ev_data data, const struct ev_place *places, size_t n,
                 struct ev_field field, bool swap, uint64_t *out)
{
    const uint8_t *record = NULL;
    int ret = EV_OK;

    if (!field_fits(field, UINT16_MAX, true))
        return EV_ERR_SPEC;
    for (size_t i = 0; i < n && ret == EV_OK; i++) {
        ret = record_of(data, &places[i], (unsigned)field.offset + field.size, &record);
        if (ret == EV_OK)
            out[i] = ev_number(record, field, swap);
    }
    return ret;
}

int
ev_field_string(struct ev_data data, const struct ev_place *place,
                const struct ev_string_field *field, bool swap, const uint8_t **bytes,
                size_t *length)
{
    const uint8_t *record = NULL;
    size_t start = field->offset, size = field->storage == EV_FIXED ? field->size : 4;
    int ret = record_of(data, place, (unsigned)(start + size), &record);

    if (ret != EV_OK)
        return ret;
    if (field->storage != EV_FIXED) { /* include/trace/trace_events.h */
        uint32_t location = (uint32_t)ev_load(record + start, 4, swap);
        start = (location & 0xffff) + (field->storage == EV_REL_LOC ? start + 4 : 0);
        size = location >> 16;
    }
    if (start > place->size || size > place->size - start)
        return EV_ERR_BOUNDS;
    *bytes = record + start;
    *length = strnlen((const char *)record + start, size);
    return EV_OK;
}
