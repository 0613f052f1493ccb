/* Expands the compressed records of perf.data. */
#ifndef FOREREAD_PERF_INFLATE_H
#define FOREREAD_PERF_INFLATE_H

#include "errors.h"
#include "number.h"

/* Where decompressed records go. out NULL: they are only counted. */
struct perf_sink {
    uint8_t *out;
    size_t capacity; /* with out: at least one byte more than was counted */
    size_t filled;   /* after an error: by the records before the damaged one */
};

/* Passes on all records, the compressed ones (one zstd stream through the file) after the
 * others: the end of one can be the beginning of a record that the next one completes. */
int perf_inflate(struct ev_data data, bool swap, struct perf_sink *sink);

#endif
