/* From pages read to block requests: emulator/linux/requests.py. */
#include "requests.h"

#include "disk.h"
#include "stored.h"

#include <stdlib.h>

enum { SECTOR = 512 };

/* A bio, and the request that is being cut from it. */
struct bio {
    uint64_t next; /* sector that would go on with it */
    int64_t sectors, segments;
    bool open;
};

static void
close_bio(struct lx_kernel *k, uint32_t group, struct bio *bio)
{
    k->requests[group] += bio->open;
    *bio = (struct bio){0};
}

/* Add a folio's sectors to a bio that they continue: bio_split_rw. */
static void
add_folio(struct lx_kernel *k, uint32_t group, struct bio *bio, int64_t sectors)
{
    const struct lx_machine *limits = k->machine;
    int64_t most = lx_max_sectors(limits);
    int64_t longest = limits->max_segment_size / SECTOR;
    while (sectors) {
        int64_t taken = lx_min(lx_min(sectors, longest), most - bio->sectors);
        if (!taken || bio->segments == limits->max_segments) {
            k->requests[group]++;
            bio->sectors = bio->segments = 0;
            continue;
        }
        sectors -= taken;
        bio->sectors += taken;
        bio->segments++;
    }
}

/* Add as many whole folios as the request has room for; return their sectors. */
static int64_t
add_whole(const struct lx_kernel *k, struct bio *bio, int64_t sectors, int64_t folio)
{
    const struct lx_machine *limits = k->machine;
    if (folio > limits->max_segment_size / SECTOR)
        return 0;
    int64_t room = lx_min(sectors, lx_max_sectors(limits) - bio->sectors) / folio;
    int64_t folios = lx_min(room, limits->max_segments - bio->segments);
    bio->segments += folios;
    bio->sectors += folios * folio;
    return folios * folio;
}

/* Add ``sectors`` in folios of ``folio`` sectors; the first may be cut by ``skip``. */
static void
add(struct lx_kernel *k, uint32_t group, struct bio *bio, uint64_t sector, int64_t sectors,
    int64_t folio, int64_t skip)
{
    if (bio->open && bio->next != sector)
        close_bio(k, group, bio);
    bio->open = true;
    bio->next = sector + (uint64_t)sectors;
    const struct lx_machine *limits = k->machine;
    int64_t folios = lx_divide_up(sectors + skip, folio);
    if (folio <= limits->max_segment_size / SECTOR &&
        bio->segments + folios <= limits->max_segments &&
        bio->sectors + sectors <= lx_max_sectors(limits)) {
        bio->segments += folios;
        bio->sectors += sectors;
        return;
    }
    for (int64_t part; sectors; sectors -= part, skip = 0) {
        part = skip ? 0 : add_whole(k, bio, sectors, folio);
        if (part)
            continue;
        part = lx_min(sectors, folio - skip);
        add_folio(k, group, bio, part);
    }
}

/*
 * Add the stored part of sectors [first, behind) of a file, in folios of ``folio`` sectors. *
 * Counts its pages of ``unit`` sectors.
 */
static void
add_range(struct lx_kernel *k, const struct lx_inode *inode, uint32_t group, struct bio *bio,
          uint64_t first, uint64_t behind, int64_t folio, int64_t unit)
{
    int64_t *pages = &k->pages[group], counted = 0;
    if (!inode->n_extents) {
        add(k, group, bio, ((uint64_t)inode->row << LX_FILE_BITS) + first,
            (int64_t)(behind - first), folio, 0);
        *pages += (int64_t)(behind - first) / unit;
        return;
    }
    struct lx_stored part = lx_stored_of(k, inode, first, behind);
    while (lx_stored_next(&part)) {
        add(k, group, bio, part.sector, (int64_t)(part.high - part.low), folio,
            (int64_t)((part.low - first) % (uint64_t)folio));
        int64_t page = lx_max((int64_t)part.low / unit, counted);
        counted = lx_divide_up((int64_t)part.high, unit);
        *pages += lx_max(counted - page, 0);
    }
}

/*
 * The requests of the block that begins at a page: one in a file of which no place is known, none
 * for a block without a place in another, which the file system has in its cache (a fragment).
 */
static int64_t
requests_of_block(const struct lx_kernel *k, const struct lx_inode *inode, uint64_t page)
{
    const struct lx_extent *extents = k->program->extents + inode->extents;
    uint64_t at = page * ((uint64_t)k->machine->page_size / SECTOR);
    size_t row = lx_extent_at(extents, inode->n_extents, at);
    if (!inode->n_extents)
        return 1;
    if (extents[row].at != at || !extents[row].read)
        return 0;
    return lx_block_parts(k, inode, extents[row].sectors);
}

/* A file in compressed blocks: each is read by itself. */
static void
count_blocks(struct lx_kernel *k, const struct lx_inode *inode, uint32_t group)
{
    int64_t lowest = inode->last + 1, highest = -1;
    for (size_t i = 0; i < k->run_length; i++) {
        int64_t first = (int64_t)k->run[i].index; /* single pages: no large folios here */
        int64_t end = lx_min(first + k->run[i].folios, inode->last + 1);
        if (first >= end)
            continue;
        k->pages[group] += end - first;
        lowest = lx_min(lowest, first);
        highest = lx_max(highest, end - 1);
    }
    int64_t block = inode->block_pages;
    for (int64_t at = lowest / block * block; at <= highest; at += block)
        k->requests[group] += requests_of_block(k, inode, (uint64_t)at);
}

static void
log_run(struct lx_kernel *k, const struct lx_inode *inode)
{
    struct lx_counts *counts = k->counts;
    size_t needed = counts->n_inserts;
    for (size_t i = 0; i < k->run_length; i++)
        needed += k->run[i].folios;
    if (needed > counts->room) {
        size_t room = 2 * needed;
        uint64_t bytes = room * sizeof(struct lx_insert);
        void *inserts = bytes <= LX_MOST_BYTES ? realloc(counts->inserts, bytes) : NULL;
        if (!inserts) {
            k->arena.failed = true;
            return;
        }
        counts->inserts = inserts;
        counts->room = room;
    }
    for (size_t i = 0; i < k->run_length; i++) {
        const struct lx_piece *piece = &k->run[i];
        for (uint64_t at = 0; at < piece->folios; at++)
            counts->inserts[counts->n_inserts++] =
                (struct lx_insert){.file = inode->row,
                                   .index = piece->index + (at << piece->order),
                                   .order = piece->order,
                                   .run = k->runs,
                                   .operation = k->operation,
                                   .cause = piece->cause};
    }
}

static void
count_run(struct lx_kernel *k, const struct lx_inode *inode)
{
    uint32_t group = k->program->group[inode->row];
    uint64_t unit = (uint64_t)k->machine->page_size / SECTOR;
    struct bio bio = {0};
    if (inode->block_pages) {
        count_blocks(k, inode, group);
        return;
    }
    for (size_t i = 0; i < k->run_length; i++) {
        const struct lx_piece *piece = &k->run[i];
        uint64_t first = piece->index * unit, folio = unit << piece->order;
        add_range(k, inode, group, &bio, first, first + folio * piece->folios, (int64_t)folio,
                  (int64_t)unit);
    }
    close_bio(k, group, &bio);
}

void
lx_end_empty_run(struct lx_kernel *k, const struct lx_inode *inode)
{
    if (k->counts && k->counts->log)
        log_run(k, inode);
    k->run_length = 0;
    k->runs++;
}

void
lx_end_run(struct lx_kernel *k, struct lx_inode *inode)
{
    if (k->disk)
        lx_read_run(k, inode);
    else
        count_run(k, inode);
    lx_end_empty_run(k, inode);
}
