/* From the sub-buffers of all CPUs to merged rows, in one go.
 *
 * Every CPU's data is expanded (if compressed), walked and decoded block by block, so that what is
 * read stays in the processor's cache and no more memory is touched than the rows need.
 */
#ifndef FOREREAD_RING_DECODE_H
#define FOREREAD_RING_DECODE_H

#include "inflate.h"
#include "ring_walk.h"

/* One CPU's sub-buffers as a file has them. */
struct ring_source {
    struct ev_data data; /* sub-buffers, or counted chunks of them */
    bool packed;
    enum inf_method method; /* of packed data */
    struct ring_layout layout;
    uint16_t cpu;
    uint64_t lost, gaps; /* out: see struct ring_found */
    uint64_t offset;     /* out: of the sub-buffer last looked at, once expanded */
};

/* Decodes the wanted records of n sources into columns, merged by time, ties by source. *rows is
 * their number; *failed the source that an error is about. EV_ERR_ORDER: the clock of a source
 * goes back, so that its places must be sorted first (ring_walk, ev_sort_runs, ev_decode). */
int ring_decode(const struct ev_specs *specs, struct ring_source *sources, size_t n,
                struct ev_columns *columns, size_t *rows, size_t *failed);

#endif
