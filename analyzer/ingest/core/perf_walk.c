#include "perf_walk.h"

#include "perf_record.h"

struct sample {
    uint64_t time_ns, raw;
    uint32_t raw_size;
    uint32_t cpu;
    int spec; /* -1: not wanted */
};

static int
find_id(const struct perf_shape *shape, uint64_t id)
{
    size_t low = 0, high = shape->n_ids;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (shape->ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < shape->n_ids && shape->ids[low] == id ? shape->id_layouts[low] : -1;
}

/* The layout of a record whose event id lies at offset; NULL if it is of no known event. */
static inline const struct perf_layout *
layout_of(const struct perf_shape *shape, const struct perf_record *r, unsigned offset, bool swap)
{
    int index = 0;

    if (shape->n_ids > 0)
        index = offset + 8u <= r->size ? find_id(shape, ev_load(r->at + offset, 8, swap)) : -1;
    return index >= 0 ? &shape->layouts[index] : NULL;
}

/* Moves *at past READ and CALLCHAIN; false if they pass the record's end. */
static bool
skip_variable(const struct perf_layout *layout, const struct perf_record *r, uint64_t *at,
              bool swap)
{
    uint64_t members = 0;

    if (layout->read_entry > 0) {
        if (*at + 8 > r->size)
            return false;
        members = ev_load(r->at + *at, 8, swap);
        if (members > r->size)
            return false;
    }
    *at += layout->read_bytes + members * layout->read_entry;
    if (layout->callchain) {
        if (*at + 8 > r->size)
            return false;
        uint64_t entries = ev_load(r->at + *at, 8, swap);
        if (entries > r->size)
            return false;
        *at += 8 + entries * 8;
    }
    return true;
}

/* Reads a sample of a wanted layout; false if it does not fit. */
static inline bool
read_sample(const struct perf_shape *shape, const struct perf_layout *layout,
            const struct perf_record *r, struct sample *s, bool swap)
{
    uint64_t at = layout->fixed_end;

    if (at > r->size)
        return false;
    if ((layout->read_bytes || layout->callchain) && !skip_variable(layout, r, &at, swap))
        return false;
    if (at + 6 > r->size)
        return false;
    s->raw_size = (uint32_t)ev_load(r->at + at, 4, swap);
    s->raw = at + 4;
    if (s->raw_size < 2 || s->raw_size > r->size - s->raw)
        return false;
    s->spec = shape->specs->by_id[ev_load(r->at + s->raw, 2, swap)];
    if (s->spec < 0)
        return true;
    s->time_ns = ev_load(r->at + layout->time, 8, swap);
    s->cpu = (uint32_t)ev_load(r->at + layout->cpu, 4, swap);
    return s->raw_size >= shape->specs->items[s->spec].length;
}

static bool
is_side(uint32_t type)
{
    return type == PERF_MMAP || type == PERF_MMAP2 || type == PERF_COMM || type == PERF_FORK;
}

static inline void
count_sample(const struct perf_shape *shape, const struct perf_record *r, struct perf_tally *tally,
             bool swap)
{
    const struct perf_layout *layout = layout_of(shape, r, shape->sample_id, swap);
    struct sample s;

    tally->samples++;
    if (layout == NULL || !layout->wanted)
        return;
    if (!read_sample(shape, layout, r, &s, swap))
        tally->damaged++;
    else if (s.spec >= 0 && s.cpu < tally->n_cpus)
        tally->events[s.cpu]++;
    else if (s.spec >= 0)
        tally->damaged++;
}

/* PERF_RECORD_LOST: id, lost, sample id. */
static void
count_lost(const struct perf_shape *shape, const struct perf_record *r, struct perf_tally *tally,
           bool swap)
{
    const struct perf_layout *layout;
    uint64_t lost, cpu = UINT64_MAX;

    if (r->size < 24)
        return;
    lost = ev_load(r->at + 16, 8, swap);
    layout = layout_of(shape, r, r->size - 8u, swap);
    if (layout != NULL && layout->tail_cpu > 0 && r->size >= 24u + layout->tail_cpu)
        cpu = ev_load(r->at + r->size - layout->tail_cpu, 4, swap);
    if (cpu < tally->n_cpus)
        tally->lost[cpu] += lost;
    else
        tally->lost_unknown += lost;
}

/* PERF_RECORD_LOST_SAMPLES: lost. The record that perf record writes at its end always has CPU 0.
 */
static void
count_lost_samples(const struct perf_record *r, struct perf_tally *tally, bool swap)
{
    if (r->size >= 16 && !(r->misc & PERF_FILTERED))
        tally->lost_samples += ev_load(r->at + 8, 8, swap);
}

static inline int
count_all(const struct perf_shape *shape, struct ev_data data, struct perf_tally *tally, bool swap)
{
    struct perf_record r;
    int more;

    while ((more = perf_record_next(data, &tally->end, &r, swap)) > 0) {
        if (r.type == PERF_SAMPLE)
            count_sample(shape, &r, tally, swap);
        else if (r.type == PERF_LOST)
            count_lost(shape, &r, tally, swap);
        else if (r.type == PERF_LOST_SAMPLES)
            count_lost_samples(&r, tally, swap);
        else if (is_side(r.type))
            tally->side++;
    }
    tally->stop = more == 0 ? PERF_END : more == EV_ERR_TRUNCATED ? PERF_TRUNCATED : PERF_DAMAGED;
    return EV_OK;
}

static bool
layout_fits(const struct perf_layout *layout)
{
    if (layout->tail_cpu > 0 && layout->tail_cpu < 4) /* the CPU would end after the record */
        return false;
    return !layout->wanted ||
           (layout->time + 8 <= layout->fixed_end && layout->cpu + 4 <= layout->fixed_end);
}

static bool
shape_fits(const struct perf_shape *shape)
{
    bool fits = shape->n_layouts > 0;

    for (size_t i = 0; i < shape->n_layouts; i++)
        fits = fits && layout_fits(&shape->layouts[i]);
    for (size_t i = 0; i < shape->n_ids; i++)
        fits = fits && shape->id_layouts[i] < shape->n_layouts;
    return fits;
}

int
perf_count(const struct perf_shape *shape, struct ev_data data, struct perf_tally *tally)
{
    tally->samples = tally->damaged = tally->side = tally->end = 0;
    tally->lost_unknown = tally->lost_samples = 0;
    if (!shape_fits(shape))
        return EV_ERR_LAYOUT;
    return shape->specs->swap ? count_all(shape, data, tally, true)
                              : count_all(shape, data, tally, false);
}

static inline int
place_sample(const struct perf_shape *shape, const struct perf_record *r, uint64_t offset,
             struct perf_room *room, bool swap)
{
    const struct perf_layout *layout = layout_of(shape, r, shape->sample_id, swap);
    struct sample s;
    uint64_t place;

    if (layout == NULL || !layout->wanted || !read_sample(shape, layout, r, &s, swap) ||
        s.spec < 0 || s.cpu >= room->n_cpus)
        return EV_OK; /* counted as damaged, or not wanted, in the first pass */
    place = room->next[s.cpu];
    if (place >= room->limit[s.cpu] || place >= room->n_places)
        return EV_ERR_CAPACITY;
    room->next[s.cpu]++;
    room->places[place] = (struct ev_place){.time_ns = s.time_ns,
                                            .offset = offset + s.raw,
                                            .size = s.raw_size,
                                            .cpu = (uint16_t)s.cpu,
                                            .spec = (uint16_t)s.spec};
    return EV_OK;
}

static inline int
place_all(const struct perf_shape *shape, struct ev_data data, struct perf_room *room, bool swap)
{
    struct perf_record r;
    uint64_t at = 0;
    size_t side = 0;
    int ret = EV_OK;

    while (ret == EV_OK && perf_record_next(data, &at, &r, swap) > 0) {
        uint64_t offset = (uint64_t)(r.at - data.bytes);
        if (r.type == PERF_SAMPLE)
            ret = place_sample(shape, &r, offset, room, swap);
        else if (is_side(r.type) && side == room->n_side)
            ret = EV_ERR_CAPACITY;
        else if (is_side(r.type))
            room->side[side++] = offset;
    }
    return ret;
}

int
perf_places(const struct perf_shape *shape, struct ev_data data, struct perf_room *room)
{
    if (!shape_fits(shape) || room->n_cpus > UINT16_MAX + 1)
        return EV_ERR_LAYOUT;
    return shape->specs->swap ? place_all(shape, data, room, true)
                              : place_all(shape, data, room, false);
}
