/* read(2) on the page cache: emulator/stepwise/reads.py. */
#include "reads.h"

#include "adaptive.h"
#include "memory.h"
#include "ondemand.h"
#include "submit.h"

enum { MAX_COUNT = 0x7FFFF000 }; /* MAX_RW_COUNT, bytes */

/* folio_mark_accessed: reads that follow each other in one folio mark it once. */
static void
mark_accessed(struct lx_kernel *k, struct lx_handle *file, int64_t page, bool first)
{
    struct lx_folio folio;
    if (!k->memory.limit || !lx_find(&file->inode->tree, (uint64_t)page, &folio))
        return;
    int64_t marked = file->state.marked, index = (int64_t)folio.index;
    if (!first || marked < index || marked >= index + (INT64_C(1) << folio.order))
        lx_memory_read(k, file->inode, page);
    file->state.marked = page;
}

/* One page of do_generic_mapping_read, 2.6.11 to 2.6.22. */
static bool
read_adaptive(struct lx_kernel *k, struct lx_reading *r, struct lx_needed *needed)
{
    struct lx_folio folio;
    struct lx_inode *inode = r->file->inode;
    int64_t page = r->following;
    if (page >= r->stop || k->arena.failed)
        return false;
    if (page == r->due && page < r->behind)
        r->due = lx_adaptive(k, r->file, page, r->behind - page);
    if (!lx_find(&inode->tree, (uint64_t)page, &folio)) {
        lx_adaptive_miss(k, r->file);
        lx_read_single(k, inode, page);
    }
    mark_accessed(k, r->file, page, page == r->first);
    *needed = (struct lx_needed){.inode = inode, .first = page, .behind = page + 1};
    r->following = page + 1;
    return true;
}

/* filemap_get_pages: bring in a page; return the first page after its folio. */
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

/* The page that a read(2) finds before it sees that the file has ended, or -1. */
static int64_t
page_past_end(const struct lx_kernel *k, const struct lx_inode *inode, int64_t from, int64_t asked)
{
    int64_t size = (int64_t)inode->size, page_size = k->machine->page_size;
    int rule = k->rules->reads_past_end;
    if (rule == LX_READS_PAST_END_NOTHING || asked <= 0 || from + asked <= size)
        return -1;
    if (from >= size)
        return from / page_size;
    return rule == LX_READS_PAST_END_BEYOND && size % page_size == 0 ? inode->last + 1 : -1;
}

/* Nothing of the file is to be read if ``end`` is 0. */
static struct lx_reading
begin(const struct lx_kernel *k, struct lx_handle *file, uint64_t position, uint64_t count)
{
    int64_t size = k->machine->page_size, from = (int64_t)position;
    int64_t asked = lx_min((int64_t)count, MAX_COUNT), page = from / size;
    int64_t end = lx_min(from + asked, (int64_t)file->inode->size);
    struct lx_reading r = {.file = file,
                           .first = page,
                           .page = page,
                           .following = page,
                           .behind = lx_divide_up(from + asked, size),
                           .end = end,
                           .due = page,
                           .past = page_past_end(k, file->inode, from, asked)};
    if (k->rules->algorithm == LX_ALGORITHM_ADAPTIVE && k->rules->off_is_negative)
        r.behind = page + lx_divide_up(asked, size);
    if (from >= end)
        r.end = 0;
    r.stop = lx_divide_up(r.end, size);
    return r;
}

/* Once all is read: find the page past the end, then end. */
static bool
find_past_end(struct lx_kernel *k, struct lx_reading *r, struct lx_needed *needed)
{
    int64_t size = k->machine->page_size, past = r->past;
    if (past >= 0 && !k->arena.failed) {
        next_page(k, r->file, past, r->behind);
        mark_accessed(k, r->file, past, past == r->first);
        *needed = (struct lx_needed){.inode = r->file->inode, .first = past, .behind = past + 1};
        r->past = -1;
        return true;
    }
    if (r->end)
        r->file->state.prev_page =
            k->rules->prev_pos == LX_PREV_POS_LAST_PAGE ? (r->end - 1) / size : r->end / size;
    return false;
}

static bool
go_on(struct lx_kernel *k, struct lx_reading *r, struct lx_needed *needed)
{
    struct lx_state *state = &r->file->state;
    int64_t size = k->machine->page_size;
    if (k->rules->algorithm == LX_ALGORITHM_ADAPTIVE)
        return read_adaptive(k, r, needed);
    if (r->page != r->following) {
        r->page = r->following;
        if (k->rules->prev_pos == LX_PREV_POS_EVERY_PAGE)
            state->prev_page = lx_min(r->page * size, r->end) / size;
    }
    if (r->page >= r->stop || k->arena.failed)
        return find_past_end(k, r, needed);
    r->following = next_page(k, r->file, r->page, r->behind);
    mark_accessed(k, r->file, r->page, r->page == r->first);
    int64_t behind = lx_min(r->following, r->stop);
    *needed = (struct lx_needed){.inode = r->file->inode, .first = r->page, .behind = behind};
    return true;
}

struct lx_reading
lx_read_begin(const struct lx_kernel *k, struct lx_handle *file, uint64_t position, uint64_t count)
{
    return begin(k, file, position, count);
}

bool
lx_read_on(struct lx_kernel *k, struct lx_reading *r, struct lx_needed *needed)
{
    return go_on(k, r, needed);
}

/* Pass cached pages at which nothing happens: of order 0, without a mark. */
static void
pass_cached(const struct lx_kernel *k, struct lx_reading *r)
{
    uint64_t page = (uint64_t)r->following, stop = (uint64_t)r->stop;
    if (k->rules->algorithm == LX_ALGORITHM_ADAPTIVE || page >= stop || k->memory.limit)
        return;
    const struct lx_leaf *leaf = lx_leaf_of(&r->file->inode->tree, page);
    if (leaf)
        r->following += (int64_t)lx_run(leaf->present & ~leaf->marked & ~leaf->large, page, stop);
}

void
lx_read(struct lx_kernel *k, struct lx_handle *file, uint64_t position, uint64_t count)
{
    struct lx_needed needed;
    struct lx_reading r = begin(k, file, position, count);
    do
        pass_cached(k, &r);
    while (go_on(k, &r, &needed));
}
