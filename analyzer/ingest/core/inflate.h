/* Expands the compressed parts of a trace.dat v7: Documentation/trace-cmd/trace-cmd.dat.v7.5.txt.
 *
 * A section is one block. Trace data is a count (4 bytes) and so many chunks of: compressed size,
 * uncompressed size (4 bytes each), data. Sizes are claims of the file and are checked.
 */
#ifndef FOREREAD_INFLATE_H
#define FOREREAD_INFLATE_H

#include "decode.h"

enum inf_method { INF_UNKNOWN, INF_ZLIB, INF_ZSTD };

/* The method of a compression name as trace.dat has it. */
enum inf_method inf_method(const char *name);

/* Expands one block into exactly size bytes. */
int inf_block(enum inf_method method, struct ev_data source, uint8_t *target, size_t size);

/* Sums up the uncompressed sizes of all chunks at the start of the source. */
int inf_chunks_size(struct ev_data source, bool swap, uint64_t *size);

/* Chunks being expanded one after the other. */
struct inf_reader {
    enum inf_method method;
    void *context; /* of zstd, worth keeping between chunks */
    struct ev_data left;
    uint32_t chunks; /* left */
    bool swap;
};

/* Prepares the chunks at the start of the source; free in any case. */
int inf_reader_alloc(struct inf_reader *reader, enum inf_method method, struct ev_data source,
                     bool swap);
void inf_reader_free(struct inf_reader *reader);

/* Takes the next chunk: 1 and its packed bytes and size, 0 after the last, or an error. */
int inf_next(struct inf_reader *reader, struct ev_data *packed, uint32_t *size);

/* Expands a chunk into exactly size bytes. */
int inf_expand(const struct inf_reader *reader, struct ev_data packed, uint8_t *target,
               size_t size);

/* Expands the chunks at the start of the source, back to back, into exactly size bytes. */
int inf_chunks(enum inf_method method, struct ev_data source, bool swap, uint8_t *target,
               size_t size);

#endif
