/* read(2) on the page cache: emulator/linux/reads.py. */
#include "linux_kernel.h"

enum { MAX_COUNT = 0x7FFFF000 }; /* MAX_RW_COUNT, bytes */

/* do_generic_mapping_read, 2.6.11 to 2.6.22. */
static void
read_adaptive(struct lx_kernel *k, struct lx_handle *file, int64_t first, int64_t end,
              int64_t asked)
{
    struct lx_folio folio;
    int64_t due = first;
    for (int64_t page = first; page < end; page++) {
        if (page == due && page < asked)
            due = lx_adaptive(k, file, page, asked - page);
        if (!lx_find(&file->inode->tree, (uint64_t)page, &folio)) {
            lx_adaptive_miss(k, file);
            lx_read_single(k, file->inode, page);
        }
    }
}

/* filemap_get_pages: bring in a page; return the first page behind what it is in. */
static int64_t
next_page(struct lx_kernel *k, struct lx_handle *file, int64_t page, int64_t behind)
{
    struct lx_folio folio;
    struct lx_tree *tree = &file->inode->tree;
    if (!lx_find(tree, (uint64_t)page, &folio)) {
        lx_miss(k, file, page, behind - page);
        if (!lx_find(tree, (uint64_t)page, &folio)) {
            lx_read_single(k, file->inode, page);
            return page + 1;
        }
    }
    if (lx_is_marked(tree, (uint64_t)page)) {
        int64_t at = k->rules->folio_index ? (int64_t)folio.index : page;
        lx_marker(k, file, folio, at, behind - at);
    }
    return (int64_t)(folio.index + (UINT64_C(1) << folio.order));
}

void
lx_read(struct lx_kernel *k, struct lx_handle *file, uint64_t position, uint64_t count)
{
    struct lx_state *state = &file->state;
    int64_t size = k->machine->page_size, from = (int64_t)position;
    int64_t asked = lx_min((int64_t)count, MAX_COUNT);
    int64_t end = lx_min(from + asked, (int64_t)file->inode->size);
    if (from >= end)
        return;
    int64_t page = from / size, behind = lx_divide_up(from + asked, size);
    if (k->rules->algorithm == LX_ADAPTIVE) {
        if (k->rules->off_is_negative)
            behind = page + lx_divide_up(asked, size);
        read_adaptive(k, file, page, lx_divide_up(end, size), behind);
        return;
    }
    while (page * size < end && !k->arena.failed) {
        page = next_page(k, file, page, behind);
        if (k->rules->prev_pos == LX_PREV_EVERY_PAGE)
            state->prev_page = lx_min(page * size, end) / size;
    }
    state->prev_page = k->rules->prev_pos == LX_PREV_LAST_PAGE ? (end - 1) / size : end / size;
}
