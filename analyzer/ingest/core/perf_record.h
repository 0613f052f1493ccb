/* One record of perf.data after the other, also of Android's simpleperf: its own types have larger
 * records (system/extras, simpleperf/record.h). */
#ifndef FOREREAD_PERF_RECORD_H
#define FOREREAD_PERF_RECORD_H

#include "decode.h"

/* PERF_RECORD_* */
enum perf_type {
    PERF_MMAP = 1,
    PERF_LOST = 2,
    PERF_COMM = 3,
    PERF_FORK = 7,
    PERF_SAMPLE = 9,
    PERF_MMAP2 = 10,
    PERF_LOST_SAMPLES = 13,
    PERF_TRACING_DATA = 66,
    PERF_AUXTRACE = 71,
    PERF_COMPRESSED = 81,
    PERF_COMPRESSED2 = 83,
    PERF_SIMPLEPERF = 1 << 15
};

/* PERF_RECORD_MISC_LOST_SAMPLES_BPF: samples that a filter dropped as it should */
enum { PERF_FILTERED = 1 << 15 };

struct perf_record {
    const uint8_t *at; /* its header: u32 type, u16 misc, u16 size; simpleperf: u16 upper half */
    uint32_t type, size;
    uint16_t misc;
};

/* Bytes that follow a record without being counted in its size; simpleperf counts its formats. */
static inline uint64_t
perf_payload(const struct perf_record *r, bool swap)
{
    uint64_t formats;

    if (r->type == PERF_AUXTRACE && r->size >= 16)
        return ev_load(r->at + 8, 8, swap);
    if (r->type != PERF_TRACING_DATA || r->size < 12)
        return 0;
    formats = ev_load(r->at + 8, 4, swap);
    return r->size - 12 >= formats ? 0 : (formats + 7) & ~7ull;
}

/* Reads the record at *at and moves on. Returns 1; 0 at the end of the data; EV_ERR_TRUNCATED
 * or EV_ERR_RECORD_SIZE, *at then stays. */
static inline int
perf_record_next(struct ev_data data, uint64_t *at, struct perf_record *r, bool swap)
{
    uint64_t left = data.size - *at, payload;

    if (left == 0)
        return 0;
    if (left < 8)
        return EV_ERR_TRUNCATED;
    r->at = data.bytes + *at;
    r->type = (uint32_t)ev_load(r->at, 4, swap);
    r->misc = (uint16_t)ev_load(r->at + 4, 2, swap);
    r->size = (uint32_t)ev_load(r->at + 6, 2, swap);
    if (r->type >= PERF_SIMPLEPERF)
        r->size |= (uint32_t)r->misc << 16;
    if (r->size < 8)
        return EV_ERR_RECORD_SIZE;
    if (r->size > left)
        return EV_ERR_TRUNCATED;
    payload = r->type < 64 ? 0 : perf_payload(r, swap);
    if (payload > left - r->size)
        return EV_ERR_TRUNCATED;
    *at += r->size + payload;
    return 1;
}

#endif
