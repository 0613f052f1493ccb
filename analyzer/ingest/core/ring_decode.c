#include "ring_decode.h"
#include "merge.h"

#include <stdlib.h>

/* Plain data is taken in blocks of about this size, packed data chunk by chunk. */
enum { BLOCK = 1 << 16, SMALLEST_EVENT = 8 };

/* A source being read: one block, and the places of its records. */
struct feed {
    struct ring_source *source;
    struct inf_reader chunks;
    struct ev_data left; /* of plain data */
    struct ev_data block;
    uint8_t *expanded;
    size_t room; /* bytes at expanded */
    struct ev_place *places;
    size_t capacity; /* of places */
    uint64_t done;   /* bytes of blocks before this one */
    uint64_t last_ns;
};

struct merge {
    const struct ev_specs *specs;
    struct feed *feeds;
    size_t n;
    struct ev_heap heap;
    size_t found; /* records so far: rows written, and places that wait */
    size_t failed;
};

/* Makes room for a block of size bytes and for all records that can be in it. */
static int
feed_reserve(struct feed *feed, size_t size, bool expand)
{
    size_t capacity = size / SMALLEST_EVENT;

    if (expand && size > feed->room) {
        free(feed->expanded);
        feed->expanded = malloc(size);
        feed->room = feed->expanded != NULL ? size : 0;
    }
    if (capacity > SIZE_MAX / sizeof(*feed->places)) /* where size_t has 32 bits */
        return EV_ERR_NO_MEMORY;
    if (capacity > feed->capacity) {
        free(feed->places);
        feed->places = malloc(capacity * sizeof(*feed->places));
        feed->capacity = feed->places != NULL ? capacity : 0;
    }
    if ((expand && size > feed->room) || capacity > feed->capacity)
        return EV_ERR_NO_MEMORY;
    return EV_OK;
}

static int
next_chunk(struct feed *feed)
{
    struct ev_data packed;
    uint32_t size = 0;
    int ret = inf_next(&feed->chunks, &packed, &size);

    if (ret <= 0)
        return ret;
    ret = feed_reserve(feed, size, true);
    if (ret == EV_OK)
        ret = inf_expand(&feed->chunks, packed, feed->expanded, size);
    feed->block = (struct ev_data){.bytes = feed->expanded, .size = size};
    return ret == EV_OK ? 1 : ret;
}

static int
next_plain(struct feed *feed)
{
    uint32_t subbuf = feed->source->layout.subbuf_size;
    size_t size = subbuf > BLOCK ? subbuf : subbuf > 0 ? BLOCK / subbuf * subbuf : BLOCK;

    if (feed->left.size == 0)
        return 0;
    if (size > feed->left.size)
        size = feed->left.size;
    feed->block = (struct ev_data){.bytes = feed->left.bytes, .size = size};
    feed->left.bytes += size;
    feed->left.size -= size;
    int ret = feed_reserve(feed, size, false);
    return ret == EV_OK ? 1 : ret;
}

static bool
in_order(struct feed *feed, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (feed->places[i].time_ns < feed->last_ns)
            return false;
        feed->last_ns = feed->places[i].time_ns;
    }
    return true;
}

/* Walks the block at hand. Returns EV_OK and the number of records, or an error. */
static int
walk_block(const struct ev_specs *specs, struct feed *feed, size_t *records)
{
    struct ring_source *source = feed->source;
    struct ring_stream stream = {.offset = 0, .size = feed->block.size, .cpu = source->cpu};
    struct ring_found found;
    int ret = ring_walk(&source->layout, specs, feed->block, &stream, feed->places, feed->capacity,
                        &found);

    source->lost += found.lost;
    source->gaps += found.gaps;
    source->offset = feed->done + found.offset;
    feed->done += feed->block.size;
    *records = found.records;
    if (ret == EV_OK && !in_order(feed, found.records))
        ret = EV_ERR_ORDER;
    return ret;
}

/* Fills the cursor with the next records. Returns 1, 0 at the source's end, or an error. */
static int
refill(struct merge *merge, struct ev_cursor *cursor, size_t capacity)
{
    struct feed *feed = &merge->feeds[cursor->run];
    size_t records = 0;
    int ret = 1;

    while (ret > 0 && records == 0) {
        ret = feed->source->packed ? next_chunk(feed) : next_plain(feed);
        if (ret > 0) {
            int walked = walk_block(merge->specs, feed, &records);
            ret = walked == EV_OK ? 1 : walked;
        }
    }
    merge->found += records;
    if (ret > 0 && merge->found > capacity)
        ret = EV_ERR_CAPACITY;
    if (ret < 0)
        merge->failed = cursor->run;
    if (ret > 0) {
        cursor->next = feed->places;
        cursor->end = feed->places + records;
    }
    return ret;
}

static int
feed_alloc(struct feed *feed, struct ring_source *source, bool swap)
{
    feed->source = source;
    feed->left = source->data;
    source->lost = source->gaps = source->offset = 0;
    return source->packed ? inf_reader_alloc(&feed->chunks, source->method, source->data, swap)
                          : EV_OK;
}

static void
feed_free(struct feed *feed)
{
    inf_reader_free(&feed->chunks);
    free(feed->expanded);
    free(feed->places);
}

static int
merge_alloc(struct merge *merge, struct ring_source *sources, size_t n, size_t capacity)
{
    int ret = EV_OK;

    merge->feeds = calloc(n + 1, sizeof(*merge->feeds));
    merge->heap.items = calloc(n + 1, sizeof(*merge->heap.items));
    if (merge->feeds == NULL || merge->heap.items == NULL)
        return EV_ERR_NO_MEMORY;
    for (merge->n = 0; merge->n < n && ret >= 0; merge->n++) {
        struct ev_cursor *cursor = &merge->heap.items[merge->heap.n];
        cursor->run = merge->failed = merge->n;
        ret = feed_alloc(&merge->feeds[merge->n], &sources[merge->n], merge->specs->swap);
        if (ret == EV_OK)
            ret = refill(merge, cursor, capacity);
        merge->heap.n += ret > 0;
    }
    for (size_t i = merge->heap.n / 2; i-- > 0;)
        ev_sift_down(&merge->heap, i);
    return ret < 0 ? ret : EV_OK;
}

static void
merge_free(struct merge *merge)
{
    for (size_t i = 0; i < merge->n; i++)
        feed_free(&merge->feeds[i]);
    free(merge->feeds);
    free(merge->heap.items);
}

static inline int
merge_all(struct merge *merge, struct ev_decoder *decoder, bool swap)
{
    struct ev_heap *heap = &merge->heap;
    struct ev_cursor *top = &heap->items[0];
    int ret = EV_OK;

    while (heap->n > 0 && ret >= 0) {
        merge->failed = top->run;
        decoder->data = merge->feeds[top->run].block;
        ret = ev_decode_stretch(decoder, heap, swap);
        if (ret == EV_OK && top->next == top->end) {
            ret = refill(merge, top, decoder->columns->capacity);
            if (ret == 0)
                *top = heap->items[--heap->n];
        }
        if (heap->n > 0 && ret >= 0)
            ev_sift_down(heap, 0);
    }
    return ret < 0 ? ret : EV_OK;
}

int
ring_decode(const struct ev_specs *specs, struct ring_source *sources, size_t n,
            struct ev_columns *columns, size_t *rows, size_t *failed)
{
    struct merge merge = {.specs = specs};
    struct ev_decoder decoder = {.specs = specs, .columns = columns};
    int ret = merge_alloc(&merge, sources, n, columns->capacity);

    if (ret == EV_OK) /* two copies of the loop: the common one swaps nothing */
        ret = specs->swap ? merge_all(&merge, &decoder, true) : merge_all(&merge, &decoder, false);
    *rows = decoder.row;
    *failed = merge.failed;
    merge_free(&merge);
    return ret;
}
