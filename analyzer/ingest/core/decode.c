/* From places of records to rows of columns. */
#include "decode.h"
#include "merge.h"

#include <stdlib.h>

static int
heap_alloc(struct ev_heap *heap, const struct ev_runs *runs)
{
    heap->n = 0;
    heap->items = malloc((runs->n + 1) * sizeof(*heap->items));
    if (heap->items == NULL)
        return EV_ERR_NO_MEMORY;
    for (size_t i = 0; i < runs->n; i++) {
        if (runs->starts[i] == runs->starts[i + 1]) /* places may be NULL */
            continue;
        heap->items[heap->n++] = (struct ev_cursor){.next = runs->places + runs->starts[i],
                                                    .end = runs->places + runs->starts[i + 1],
                                                    .run = i};
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
    struct ev_decoder d = {.specs = specs, .data = data, .columns = columns, .row = first_row};
    struct ev_heap heap = {.items = NULL, .n = 0};
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
