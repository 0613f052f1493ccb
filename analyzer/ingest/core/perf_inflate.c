#include "perf_inflate.h"

#include "perf_record.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { SCRATCH = 1 << 17 };

/* The compressed bytes of a record. PERF_RECORD_COMPRESSED2 says how many; in the older
 * PERF_RECORD_COMPRESSED they fill the record. */
static bool
payload_of(const struct perf_record *r, bool swap, ZSTD_inBuffer *in)
{
    unsigned header = r->type == PERF_COMPRESSED2 ? 16 : 8;
    uint64_t size;

    if (r->size < header)
        return false;
    size = header == 16 ? ev_load(r->at + 8, 8, swap) : (uint64_t)r->size - 8;
    *in = (ZSTD_inBuffer){.src = r->at + header, .size = (size_t)size};
    return size <= (uint64_t)r->size - header;
}

static int
inflate_record(ZSTD_DStream *stream, ZSTD_inBuffer *in, struct perf_sink *sink, uint8_t *scratch)
{
    ZSTD_outBuffer out;

    do { /* until all is read and zstd holds nothing back */
        if (sink->out != NULL)
            out = (ZSTD_outBuffer){.dst = sink->out + sink->filled,
                                   .size = sink->capacity - sink->filled};
        else
            out = (ZSTD_outBuffer){.dst = scratch, .size = SCRATCH};
        if (out.size == 0)
            return EV_ERR_CAPACITY;
        if (ZSTD_isError(ZSTD_decompressStream(stream, &out, in)))
            return EV_ERR_COMPRESSION;
        sink->filled += out.pos;
        if (sink->filled >= sink->capacity)
            return EV_ERR_CAPACITY;
    } while (in->pos < in->size || out.pos == out.size);
    return EV_OK;
}

static bool
is_compressed(const struct perf_record *r)
{
    return r->type == PERF_COMPRESSED || r->type == PERF_COMPRESSED2;
}

/* Passes on the records that are not compressed. */
static int
copy_plain(struct ev_data data, bool swap, struct perf_sink *sink)
{
    struct perf_record r;
    uint64_t at = 0, start = 0;

    for (; perf_record_next(data, &at, &r, swap) > 0; start = at) {
        size_t size = (size_t)(at - start);
        if (is_compressed(&r))
            continue;
        if (size >= sink->capacity - sink->filled)
            return EV_ERR_CAPACITY;
        if (sink->out != NULL)
            memcpy(sink->out + sink->filled, data.bytes + start, size);
        sink->filled += size;
    }
    return EV_OK;
}

static int
inflate_all(ZSTD_DStream *stream, struct ev_data data, bool swap, struct perf_sink *sink,
            uint8_t *scratch)
{
    struct perf_record r;
    ZSTD_inBuffer in;
    uint64_t at = 0;
    int ret = EV_OK;

    while (ret == EV_OK && perf_record_next(data, &at, &r, swap) > 0) {
        size_t good = sink->filled;
        if (!is_compressed(&r))
            continue;
        ret = payload_of(&r, swap, &in) ? inflate_record(stream, &in, sink, scratch)
                                        : EV_ERR_RECORD_SIZE;
        if (ret != EV_OK) /* how far zstd gets in a damaged block depends on its room */
            sink->filled = good;
    }
    return ret;
}

int
perf_inflate(struct ev_data data, bool swap, struct perf_sink *sink)
{
    ZSTD_DStream *stream = ZSTD_createDStream();
    uint8_t *scratch = malloc(SCRATCH);
    int ret = EV_ERR_NO_MEMORY;

    sink->filled = 0;
    if (stream == NULL || scratch == NULL)
        goto out;
    ret = copy_plain(data, swap, sink);
    if (ret == EV_OK)
        ret = inflate_all(stream, data, swap, sink, scratch);
out:
    free(scratch);
    ZSTD_freeDStream(stream);
    return ret;
}
