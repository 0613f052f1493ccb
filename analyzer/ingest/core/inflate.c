#include "inflate.h"

#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { WORD = 4 };

enum inf_method
inf_method(const char *name)
{
    if (strcmp(name, "zlib") == 0)
        return INF_ZLIB;
    return strcmp(name, "zstd") == 0 ? INF_ZSTD : INF_UNKNOWN;
}

static int
expand_zlib(struct ev_data source, uint8_t *target, size_t size)
{
    uLongf expanded = size;

    if (uncompress(target, &expanded, source.bytes, source.size) != Z_OK || expanded != size)
        return EV_ERR_COMPRESSION;
    return EV_OK;
}

static int
expand_zstd(ZSTD_DCtx *context, struct ev_data source, uint8_t *target, size_t size)
{
    /* an error is a huge size, and handled like a wrong one */
    if (ZSTD_decompressDCtx(context, target, size, source.bytes, source.size) != size)
        return EV_ERR_COMPRESSION;
    return EV_OK;
}

static int
context_alloc(struct inf_reader *reader, enum inf_method method)
{
    *reader = (struct inf_reader){.method = method};
    if (method == INF_UNKNOWN)
        return EV_ERR_COMPRESSION;
    if (method == INF_ZSTD)
        reader->context = ZSTD_createDCtx();
    return method == INF_ZSTD && reader->context == NULL ? EV_ERR_NO_MEMORY : EV_OK;
}

void
inf_reader_free(struct inf_reader *reader)
{
    ZSTD_freeDCtx(reader->context);
    reader->context = NULL;
}

int
inf_expand(const struct inf_reader *reader, struct ev_data packed, uint8_t *target, size_t size)
{
    return reader->method == INF_ZLIB ? expand_zlib(packed, target, size)
                                      : expand_zstd(reader->context, packed, target, size);
}

int
inf_block(enum inf_method method, struct ev_data source, uint8_t *target, size_t size)
{
    struct inf_reader reader;
    int ret = context_alloc(&reader, method);

    if (ret == EV_OK)
        ret = inf_expand(&reader, source, target, size);
    inf_reader_free(&reader);
    return ret;
}

/* Takes a 4-byte number off the source. */
static int
take_word(struct ev_data *source, bool swap, uint32_t *word)
{
    if (source->size < WORD)
        return EV_ERR_TRUNCATED;
    *word = (uint32_t)ev_load(source->bytes, WORD, swap);
    source->bytes += WORD;
    source->size -= WORD;
    return EV_OK;
}

/* Takes a chunk off the source. */
static int
take_chunk(struct ev_data *source, bool swap, struct ev_data *packed, uint32_t *size)
{
    uint32_t length = 0;
    int ret = take_word(source, swap, &length);

    if (ret == EV_OK)
        ret = take_word(source, swap, size);
    if (ret != EV_OK)
        return ret;
    if (length > source->size)
        return EV_ERR_TRUNCATED;
    *packed = (struct ev_data){.bytes = source->bytes, .size = length};
    source->bytes += length;
    source->size -= length;
    return EV_OK;
}

int
inf_reader_alloc(struct inf_reader *reader, enum inf_method method, struct ev_data source,
                 bool swap)
{
    int ret = context_alloc(reader, method);

    reader->left = source;
    reader->swap = swap;
    return ret == EV_OK ? take_word(&reader->left, swap, &reader->chunks) : ret;
}

int
inf_next(struct inf_reader *reader, struct ev_data *packed, uint32_t *size)
{
    if (reader->chunks == 0)
        return 0;
    reader->chunks--;
    int ret = take_chunk(&reader->left, reader->swap, packed, size);
    return ret == EV_OK ? 1 : ret;
}

int
inf_chunks_size(struct ev_data source, bool swap, uint64_t *total)
{
    struct inf_reader reader = {.left = source, .swap = swap};
    struct ev_data packed;
    uint32_t size = 0;
    int ret = take_word(&reader.left, swap, &reader.chunks);

    *total = 0;
    while (ret >= 0 && (ret = inf_next(&reader, &packed, &size)) > 0)
        *total += size;
    return ret;
}

int
inf_chunks(enum inf_method method, struct ev_data source, bool swap, uint8_t *target, size_t room)
{
    struct inf_reader reader;
    struct ev_data packed;
    uint32_t size = 0;
    int ret = inf_reader_alloc(&reader, method, source, swap);

    while (ret >= 0 && (ret = inf_next(&reader, &packed, &size)) > 0) {
        ret = size <= room ? inf_expand(&reader, packed, target, size) : EV_ERR_CAPACITY;
        target += ret == EV_OK ? size : 0;
        room -= ret == EV_OK ? size : 0;
    }
    inf_reader_free(&reader);
    return ret == EV_OK && room != 0 ? EV_ERR_CAPACITY : ret;
}
