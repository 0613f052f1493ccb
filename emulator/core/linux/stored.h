/* Where the sectors of a file are stored. */
#ifndef LX_STORED_H
#define LX_STORED_H

#include "kernel.h"

/* The last extent that starts at or before a sector of the file. */
size_t lx_extent_at(const struct lx_extent *extents, size_t n, uint64_t sector);
/* The stored parts of sectors [first, behind) of a file that has extents, one by one. */
struct lx_stored {
    const struct lx_extent *extent, *end; /* the next extent to examine, and the end */
    uint64_t first, behind;
    uint64_t low, high, sector; /* the part: sectors [low, high), stored from sector on */
};

struct lx_stored lx_stored_of(const struct lx_kernel *k, const struct lx_inode *inode,
                              uint64_t first, uint64_t behind);
bool lx_stored_next(struct lx_stored *stored);

/* The requests that read a compressed block of so many sectors: block_parts. */
int64_t lx_block_parts(const struct lx_kernel *k, const struct lx_inode *inode, uint64_t sectors);

#endif
