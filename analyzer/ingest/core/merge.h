/* Merging runs of places by time while decoding them: shared by the decoders, inlined into each.
 *
 * The earliest run stands on top of a heap; it is decoded as long as it stays the earliest.
 */
#ifndef FOREREAD_MERGE_H
#define FOREREAD_MERGE_H

#include "number.h"
#include "runs.h"
#include "rwbs.h"

/* A run being merged; equal times go by run number. */
struct ev_cursor {
    const struct ev_place *next, *end;
    size_t run;
};

struct ev_heap {
    struct ev_cursor *items;
    size_t n;
};

static inline bool
ev_before(const struct ev_cursor *a, const struct ev_cursor *b)
{
    uint64_t x = a->next->time_ns, y = b->next->time_ns;

    return x < y || (x == y && a->run < b->run);
}

static inline void
ev_sift_down(struct ev_heap *heap, size_t i)
{
    struct ev_cursor moving = heap->items[i];

    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= heap->n)
            break;
        if (child + 1 < heap->n && ev_before(&heap->items[child + 1], &heap->items[child]))
            child++;
        if (ev_before(&moving, &heap->items[child]))
            break;
        heap->items[i] = heap->items[child];
        i = child;
    }
    heap->items[i] = moving;
}

struct ev_decoder {
    const struct ev_specs *specs;
    struct ev_data data;
    struct ev_columns *columns;
    size_t row;
};

static inline int
ev_decode_row(struct ev_decoder *d, const struct ev_place *place, bool swap)
{
    struct ev_columns *out = d->columns;
    size_t row = d->row++;

    if (place->spec >= d->specs->n)
        return EV_ERR_SPEC;
    if (place->offset > d->data.size || place->size > d->data.size - place->offset)
        return EV_ERR_BOUNDS;
    const struct ev_spec *spec = &d->specs->items[place->spec];
    const uint8_t *record = ev_at(d->data, place->offset);
    if (place->size < spec->length)
        return EV_ERR_SHORT_RECORD;
    out->time_ns[row] = place->time_ns;
    out->cpu[row] = place->cpu;
    out->kind[row] = spec->kind;
    out->pid[row] = (int32_t)ev_number(record, spec->pid, swap);
    out->dev[row] = (uint32_t)ev_number(record, spec->numeric[EV_DEV], swap);
    out->ino[row] = ev_number(record, spec->numeric[EV_INO], swap);
    out->index[row] = ev_number(record, spec->numeric[EV_INDEX], swap);
    out->value[row] = ev_number(record, spec->numeric[EV_VALUE], swap);
    out->flags[row] = spec->rwbs.size ? ev_rwbs(record + spec->rwbs.offset, spec->rwbs.size) : 0;
    return EV_OK;
}

/* Decodes from the heap's top while it stays the earliest: runs have long stretches. */
static inline int
ev_decode_stretch(struct ev_decoder *d, struct ev_heap *heap, bool swap)
{
    struct ev_cursor *top = &heap->items[0];
    const struct ev_cursor *second = heap->n > 1 ? &heap->items[1] : NULL;
    int ret;

    if (heap->n > 2 && ev_before(&heap->items[2], second))
        second = &heap->items[2];
    do {
        ret = ev_decode_row(d, top->next, swap);
        top->next++;
    } while (ret == EV_OK && top->next < top->end && (second == NULL || ev_before(top, second)));
    return ret;
}

#endif
