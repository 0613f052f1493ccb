/* Where the sectors of a file are stored. */
#include "stored.h"

enum { SECTOR = 512 };

size_t
lx_extent_at(const struct lx_extent *extents, size_t n, uint64_t sector)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (extents[middle].at <= sector)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : 0;
}

struct lx_stored
lx_stored_of(const struct lx_kernel *k, const struct lx_inode *inode, uint64_t first,
             uint64_t behind)
{
    const struct lx_extent *extents = k->program->extents + inode->extents;
    return (struct lx_stored){.extent = extents + lx_extent_at(extents, inode->n_extents, first),
                              .end = extents + inode->n_extents,
                              .first = first,
                              .behind = behind};
}

bool
lx_stored_next(struct lx_stored *stored)
{
    while (stored->extent < stored->end && stored->extent->at < stored->behind) {
        const struct lx_extent *extent = stored->extent++;
        uint64_t end = extent->at + extent->sectors;
        stored->low = extent->at > stored->first ? extent->at : stored->first;
        stored->high = end < stored->behind ? end : stored->behind;
        stored->sector = extent->sector + stored->low - extent->at;
        if (stored->low < stored->high && extent->read)
            return true;
    }
    return false;
}

int64_t
lx_block_parts(const struct lx_kernel *k, const struct lx_inode *inode, uint64_t sectors)
{
    uint64_t most = (uint64_t)lx_block_sectors(k->machine);
    uint64_t unit = (uint64_t)k->machine->page_size / SECTOR;
    uint64_t number = sectors / most + (sectors % most != 0);
    uint64_t limit = inode->block_pages * unit / most + 1;
    return lx_max((int64_t)(number < limit ? number : limit), 1);
}
