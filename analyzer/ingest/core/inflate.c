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
    /* an error is a huge size: no need to tell it from a wrong one */
    if (ZSTD_decompressDCtx(context, target, size, source.bytes, source.size) != size)
        return EV_ERR_COMPRESSION;
    return EV_OK;
}

/* What expands blocks: a zstd context is worth keeping between them. */
struct expander {
    enum inf_method method;
    ZSTD_DCtx *zstd;
};

static int
expander_alloc(struct expander *expander, enum inf_method method)
{
    *expander = (struct expander){.method = method};
    if (method == INF_UNKNOWN)
        return EV_ERR_COMPRESSION;
    if (method == INF_ZSTD)
        expander->zstd = ZSTD_createDCtx();
    return method == INF_ZSTD && expander->zstd == NULL ? EV_ERR_NO_MEMORY : EV_OK;
}

static void
expander_free(struct expander *expander)
{
    ZSTD_freeDCtx(expander->zstd);
}

static int
expand(struct expander *expander, struct ev_data source, uint8_t *target, size_t size)
{
    return expander->method == INF_ZLIB ? expand_zlib(source, target, size)
                                        : expand_zstd(expander->zstd, source, target, size);
}

int
inf_block(enum inf_method method, struct ev_data source, uint8_t *target, size_t size)
{
    struct expander expander;
    int ret = expander_alloc(&expander, method);

    if (ret == EV_OK)
        ret = expand(&expander, source, target, size);
    expander_free(&expander);
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
take_chunk(struct ev_data *source, bool swap, struct ev_data *chunk, uint32_t *size)
{
    uint32_t packed = 0;
    int ret = take_word(source, swap, &packed);

    if (ret == EV_OK)
        ret = take_word(source, swap, size);
    if (ret != EV_OK)
        return ret;
    if (packed > source->size)
        return EV_ERR_TRUNCATED;
    *chunk = (struct ev_data){source->bytes, packed};
    source->bytes += packed;
    source->size -= packed;
    return EV_OK;
}

int
inf_chunks_size(struct ev_data source, bool swap, uint64_t *total)
{
    struct ev_data chunk;
    uint32_t count = 0, size = 0;
    int ret = take_word(&source, swap, &count);

    *total = 0;
    for (uint32_t i = 0; i < count && ret == EV_OK; i++) {
        ret = take_chunk(&source, swap, &chunk, &size);
        *total += size;
    }
    return ret;
}

int
inf_chunks(enum inf_method method, struct ev_data source, bool swap, uint8_t *target, size_t room)
{
    struct expander expander;
    struct ev_data chunk;
    uint32_t count = 0, size = 0;
    int ret = expander_alloc(&expander, method);

    if (ret == EV_OK)
        ret = take_word(&source, swap, &count);
    for (uint32_t i = 0; i < count && ret == EV_OK; i++) {
        ret = take_chunk(&source, swap, &chunk, &size);
        if (ret == EV_OK && size > room)
            ret = EV_ERR_CAPACITY;
        if (ret == EV_OK)
            ret = expand(&expander, chunk, target, size);
        target += ret == EV_OK ? size : 0;
        room -= ret == EV_OK ? size : 0;
    }
    if (ret == EV_OK && room != 0)
        ret = EV_ERR_CAPACITY;
    expander_free(&expander);
    return ret;
}
