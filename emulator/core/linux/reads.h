/* read(2) on the page cache. */
#ifndef LX_READS_H
#define LX_READS_H

#include "kernel.h"

/*
 * A read up to ``end`` (bytes; 0: of nothing), before page ``stop``, of which ``page`` is needed
 * now. ``past`` is a page that it finds before it sees that the file has ended, or -1.
 */
struct lx_reading {
    struct lx_handle *file;
    int64_t first, page, following, behind, end, stop, due, past;
};

struct lx_reading lx_read_begin(const struct lx_kernel *k, struct lx_handle *file,
                                uint64_t position, uint64_t count);
/* Continue up to the next page that is needed; false: the read has ended. */
bool lx_read_on(struct lx_kernel *k, struct lx_reading *reading, struct lx_needed *needed);
void lx_read(struct lx_kernel *k, struct lx_handle *file, uint64_t position, uint64_t count);

#endif
