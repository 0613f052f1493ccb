#include "ring_walk.h"

/* struct ring_buffer_event: type_len is 5 bits, time_delta 27, bit-fields of one word. */
enum { LARGE_DATA = 0, PADDING = 29, TIME_EXTEND = 30, TIME_STAMP = 31 };
#define DELTA_BITS 27
#define DELTA_MASK ((1U << DELTA_BITS) - 1)

/* The commit word: RB_MISSED_EVENTS, RB_MISSED_STORED, and the bytes of data. */
#define MISSED_EVENTS (1U << 31)
#define MISSED_STORED (1U << 30)
#define COMMIT_MASK ((1U << 27) - 1)

/* An absolute time stamp lacks these bits (rb_fix_abs_ts). */
#define TS_MSB (0xf8ULL << 56)
#define TS_MSB_STEP (1ULL << 59)

#define TIME_BYTES 8

struct cursor {
    const uint8_t *at, *end;       /* events left in this sub-buffer */
    const uint8_t *subbuf, *limit; /* next sub-buffer, end of the stream */
    const uint8_t *record;
    uint32_t size; /* of the record */
    uint64_t time_ns;
};

struct walk {
    const struct ring_layout *layout;
    const struct ev_specs *specs;
    struct ev_data data;
    uint16_t cpu;
    struct ev_place *places;
    size_t capacity;
    struct ring_found *found;
};

static bool
layout_valid(const struct ring_layout *layout)
{
    bool is_long = layout->commit_size == 4 || layout->commit_size == 8;

    return is_long && layout->data_offset >= TIME_BYTES + (uint32_t)layout->commit_size &&
           layout->subbuf_size > layout->data_offset && layout->subbuf_size <= COMMIT_MASK;
}

/* Stored by rb_read_page after the data: the number of lost events, if there was room. */
static void
count_lost(const struct walk *walk, uint32_t commit, const uint8_t *end, size_t room, bool swap)
{
    unsigned size = walk->layout->commit_size;

    if (!(commit & MISSED_EVENTS))
        return;
    if ((commit & MISSED_STORED) && room >= size)
        walk->found->lost += ev_load(end, size, swap);
    else
        walk->found->gaps++;
}

/* Goes to the next sub-buffer. Returns 1, 0 at the end of the stream, or an error. */
static int
next_subbuf(const struct walk *walk, struct cursor *c, bool swap)
{
    const struct ring_layout *layout = walk->layout;
    const uint8_t *subbuf = c->subbuf;
    uint32_t room = layout->subbuf_size - layout->data_offset;

    if (subbuf == c->limit)
        return 0;
    walk->found->offset = (uint64_t)(subbuf - walk->data.bytes);
    c->time_ns = ev_load(subbuf, TIME_BYTES, swap);
    uint32_t commit = (uint32_t)ev_load(subbuf + TIME_BYTES, layout->commit_size, swap);
    uint32_t size = commit & COMMIT_MASK;
    if (size > room)
        return EV_ERR_SUBBUF;
    c->at = subbuf + layout->data_offset;
    c->end = c->at + size;
    c->subbuf += layout->subbuf_size;
    count_lost(walk, commit, c->end, room - size, swap);
    return 1;
}

static inline uint64_t
absolute_time(uint64_t before, uint64_t stamp)
{
    uint64_t time = (before & TS_MSB) | stamp;

    return (before & TS_MSB) && time < before ? time + TS_MSB_STEP : time;
}

/* Bytes that follow the first word of an event of this type; at least left + 1 if cut off. */
static inline uint64_t
event_length(uint32_t type_len, const uint8_t *at, size_t left, bool swap)
{
    if (type_len > LARGE_DATA && type_len < PADDING)
        return 4 * (uint64_t)type_len;
    if (left < 4)
        return left + 1;
    if (type_len == TIME_EXTEND || type_len == TIME_STAMP)
        return 4;
    /* rb_event_data_length: array[0] counts itself; discarded events keep that. */
    return ((uint64_t)ev_load(at, 4, swap) + 3) & ~(uint64_t)3;
}

/* Takes one event off a sub-buffer. Returns 1 for a record, 0 for a time or padding, or an error.
 */
static inline int
next_event(struct cursor *c, bool swap, bool big_endian)
{
    if (c->end - c->at < 4)
        return EV_ERR_TRUNCATED;
    uint32_t word = (uint32_t)ev_load(c->at, 4, swap);
    uint32_t type_len = big_endian ? word >> DELTA_BITS : word & 31;
    uint64_t delta = big_endian ? word & DELTA_MASK : word >> 5;
    const uint8_t *body = c->at + 4;
    size_t left = (size_t)(c->end - body);

    if (type_len == PADDING && delta == 0) { /* rb_null_event: nothing follows */
        c->at = c->end;
        return 0;
    }
    uint64_t length = event_length(type_len, body, left, swap);
    if (length > left || (type_len == LARGE_DATA && length < 4))
        return EV_ERR_TRUNCATED;
    c->at = body + length;
    if (type_len == TIME_STAMP) {
        c->time_ns = absolute_time(c->time_ns, delta | ev_load(body, 4, swap) << DELTA_BITS);
        return 0;
    }
    if (type_len == TIME_EXTEND)
        delta |= ev_load(body, 4, swap) << DELTA_BITS;
    c->time_ns += delta;
    if (type_len >= PADDING)
        return 0;
    c->record = type_len == LARGE_DATA ? body + 4 : body;
    c->size = (uint32_t)(c->at - c->record);
    return 1;
}

/* Notes the record if it is wanted. */
static inline int
take_record(const struct walk *walk, const struct cursor *c, bool swap)
{
    if (c->size < 2)
        return EV_ERR_SHORT_RECORD;
    int16_t spec = walk->specs->by_id[ev_load(c->record, 2, swap)];
    if (spec < 0)
        return EV_OK;
    uint64_t row = walk->found->records++;
    if (walk->places == NULL)
        return EV_OK;
    if (row >= walk->capacity)
        return EV_ERR_CAPACITY;
    walk->places[row] = (struct ev_place){
        .time_ns = c->time_ns,
        .offset = (uint64_t)(c->record - walk->data.bytes),
        .size = c->size,
        .cpu = walk->cpu,
        .spec = (uint16_t)spec,
    };
    return EV_OK;
}

static inline int
walk_stream(const struct walk *walk, struct cursor c, bool swap)
{
    const bool big_endian = swap != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    int ret;

    while ((ret = next_subbuf(walk, &c, swap)) > 0) {
        while (c.at < c.end) {
            ret = next_event(&c, swap, big_endian);
            if (ret > 0)
                ret = take_record(walk, &c, swap);
            if (ret < 0)
                return ret;
        }
    }
    return ret;
}

int
ring_walk(const struct ring_layout *layout, const struct ev_specs *specs, struct ev_data data,
          const struct ring_stream *stream, struct ev_place *places, size_t capacity,
          struct ring_found *found)
{
    struct walk walk = {.layout = layout,
                        .specs = specs,
                        .data = data,
                        .cpu = stream->cpu,
                        .places = places,
                        .capacity = capacity,
                        .found = found};

    *found = (struct ring_found){0};
    if (!layout_valid(layout))
        return EV_ERR_LAYOUT;
    if (stream->offset > data.size || stream->size > data.size - stream->offset)
        return EV_ERR_BOUNDS;
    if (stream->size % layout->subbuf_size)
        return EV_ERR_TRUNCATED;
    const uint8_t *start = ev_at(data, stream->offset);
    struct cursor c = {.subbuf = start, .limit = start + stream->size};
    /* two copies of the loop: the common one swaps nothing */
    return specs->swap ? walk_stream(&walk, c, true) : walk_stream(&walk, c, false);
}
