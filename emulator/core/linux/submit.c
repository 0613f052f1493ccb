/* Reading ranges and windows into the page cache: emulator/stepwise/kernel.py and window.py. */
#include "submit.h"

#include "memory.h"
#include "requests.h"

#include <stdlib.h>

enum { FORCED_CHUNK = 2 << 20 }; /* bytes */

/* The last page that is read ahead: of the file, or of the mapping that limits the fault. */
static int64_t
last_page(const struct lx_kernel *k, const struct lx_inode *inode)
{
    return k->stop ? lx_min(inode->last, k->stop - 1) : inode->last;
}

int64_t
lx_power_of_two(int64_t number)
{
    return number > 1 ? INT64_C(1) << (64 - __builtin_clzll((uint64_t)number - 1)) : 1;
}

int64_t
lx_initial_size(int64_t request, int64_t limit)
{
    int64_t size = lx_power_of_two(request);
    if (size <= limit / 32)
        return size * 4;
    if (size <= limit / 4)
        return size * 2;
    return limit;
}

int64_t
lx_next_size(int64_t size, int64_t limit)
{
    return lx_min(size < limit / 16 ? 4 * size : 2 * size, limit);
}

/* Add folios to the run in progress. */
static void
put(struct lx_kernel *k, int64_t index, unsigned order, int64_t folios)
{
    if (k->run_length) {
        struct lx_piece *last = &k->run[k->run_length - 1];
        uint64_t end = last->index + ((uint64_t)last->folios << order);
        if (last->order == order && last->cause == k->cause && end == (uint64_t)index) {
            last->folios += (uint32_t)folios;
            return;
        }
    }
    if (k->run_length == k->run_room) {
        size_t room = 2 * k->run_room + 64;
        struct lx_piece *run = realloc(k->run, room * sizeof(*run));
        if (!run) {
            k->arena.failed = true;
            return;
        }
        k->run = run;
        k->run_room = room;
    }
    k->run[k->run_length++] = (struct lx_piece){
        .index = (uint64_t)index, .order = order, .folios = (uint32_t)folios, .cause = k->cause};
}

static bool
insert(struct lx_kernel *k, struct lx_inode *inode, int64_t page, unsigned order, bool marked)
{
    struct lx_folio folio = {.index = (uint64_t)page, .order = order};
    if (!lx_insert(&k->arena, &inode->tree, folio, marked))
        return false;
    lx_memory_enter(k, inode, folio);
    put(k, page, order, 1);
    return true;
}

/* squashfs_readpage_block, squashfs_copy_cache. */
static void
fill(struct lx_kernel *k, struct lx_inode *inode, int64_t start, int64_t end)
{
    int64_t block = inode->block_pages;
    int64_t behind = lx_divide_up(end, block) * block;
    enum lx_cause cause = k->cause;
    k->cause = LX_BLOCK;
    if (!k->rules->fills_past_end || inode->size % (uint64_t)k->machine->page_size == 0)
        behind = lx_min(behind, inode->last + 1);
    for (int64_t page = start / block * block; page < behind; page++)
        insert(k, inode, page, 0, false);
    k->cause = cause;
}

void
lx_read_single(struct lx_kernel *k, struct lx_inode *inode, int64_t page)
{
    k->cause = LX_BY_ITSELF;
    if (!insert(k, inode, page, 0, false))
        return;
    if (page > inode->last) {
        lx_end_empty_run(k, inode);
        return;
    }
    if (inode->block_pages)
        fill(k, inode, page, page + 1);
    lx_end_run(k, inode);
}

/* readahead_expand as squashfs_readahead calls it: a cached page ends it in both directions. */
static void
expand(struct lx_kernel *k, struct lx_handle *file, int64_t start, int64_t end)
{
    struct lx_inode *inode = file->inode;
    int64_t block = inode->block_pages;
    enum lx_cause cause = k->cause;
    k->cause = LX_BLOCK;
    bool absent = true;
    for (int64_t page = start - 1; absent && page >= start / block * block; page--)
        absent = insert(k, inode, page, 0, false);
    for (int64_t page = end; absent && page < (end / block + 1) * block; page++) {
        absent = insert(k, inode, page, 0, false);
        file->state.size += absent;
        file->state.async_size += absent;
    }
    k->cause = cause;
}

static void
readahead(struct lx_kernel *k, struct lx_handle *file, int64_t start, int64_t end)
{
    if (file->inode->block_pages) {
        if (k->rules->expands)
            expand(k, file, start, end);
        else
            fill(k, file->inode, start, end);
    }
    lx_end_run(k, file->inode);
}

/* Insert pages from ``page`` on; return how many, 0 if it is there. ``mark`` is marked. */
static int64_t
insert_some(struct lx_kernel *k, struct lx_inode *inode, int64_t page, int64_t end, int64_t mark)
{
    if (page == mark || k->memory.limit)
        return insert(k, inode, page, 0, page == mark);
    if (page < mark && mark < end)
        end = mark;
    uint64_t new = lx_insert_pages(&k->arena, &inode->tree, (uint64_t)page, (uint64_t)end);
    if (new)
        put(k, page, 0, (int64_t)new);
    return (int64_t)new;
}

int64_t
lx_read_range(struct lx_kernel *k, struct lx_handle *file, int64_t start, int64_t pages,
              int64_t ahead)
{
    struct lx_inode *inode = file->inode;
    int64_t last = last_page(k, inode);
    if (k->rules->clamps_first) {
        int64_t left = last - start + 1;
        if (pages >= left && !k->rules->marks_end)
            ahead = 0;
        pages = lx_min(pages, left);
    }
    int64_t mark = 0 < ahead && ahead <= pages ? start + pages - ahead : -1;
    int64_t absent = 0, run = 0, end = lx_min(start + pages, last + 1);
    for (int64_t page = start; page < end && !k->arena.failed;) {
        int64_t new = insert_some(k, inode, page, end, mark);
        absent += new;
        run += new;
        page += new;
        if (new)
            continue;
        if (run && k->rules->runs_apart) {
            readahead(k, file, page - run, page);
            run = 0;
        }
        page += lx_max((int64_t)lx_present(&inode->tree, (uint64_t)page, (uint64_t)end), 1);
    }
    if (run)
        readahead(k, file, start + pages - run, start + pages);
    return absent;
}

void
lx_read_forced(struct lx_kernel *k, struct lx_handle *file, int64_t start, int64_t pages)
{
    int64_t chunk = FORCED_CHUNK / k->machine->page_size;
    pages = lx_min(pages, last_page(k, file->inode) + 1 - start);
    for (int64_t at = start; at < start + pages; at += chunk)
        lx_read_range(k, file, at, lx_min(chunk, start + pages - at), 0);
}

static int64_t
at_most(const struct lx_kernel *k, int64_t order, int64_t pages)
{
    return lx_min(lx_min(order, lx_log_two(k->machine->table_pages)), lx_log_two(pages));
}

/* The order of the folios of a window; -1 for pages one by one. */
static int64_t
folio_order(const struct lx_kernel *k, struct lx_handle *file, int64_t order)
{
    struct lx_state *state = &file->state;
    bool large = file->inode->large_folios;
    int64_t least = at_most(k, k->least_order, state->size);
    if (k->rules->orders == LX_ORDERS_RAMP) {
        state->order = large ? at_most(k, state->order, state->size) : 0;
        return large ? lx_max(state->order, least) : -1;
    }
    if (k->rules->orders == LX_ORDERS_SINGLE || !large || state->size < 4)
        return -1;
    if (order < lx_log_two(k->machine->table_pages))
        order = at_most(k, order + 2, state->size);
    return lx_max(order, least);
}

static unsigned
fitting(const struct lx_kernel *k, int64_t order, int64_t index, int64_t limit)
{
    if (index % (INT64_C(1) << order))
        order = lx_log_two(index & -index);
    while (index + (INT64_C(1) << order) - 1 > limit)
        order--;
    return order == 1 && !k->rules->order_one ? 0 : (unsigned)order;
}

/* The loop of page_cache_ra_order; where a cached page stopped it, or -1. */
static int64_t
read_folios(struct lx_kernel *k, struct lx_handle *file, int64_t start, int64_t chosen)
{
    struct lx_inode *inode = file->inode;
    const struct lx_state *state = &file->state;
    int64_t last = last_page(k, inode), limit = lx_min(last, start + state->size - 1);
    int64_t mark = start + state->size - state->async_size;
    int64_t index = start, stopped = -1;
    if (limit == last && !k->rules->marks_end)
        mark = -1;
    while (index <= limit && chosen == 0) { /* the same, faster */
        int64_t new = insert_some(k, inode, index, limit + 1, mark);
        if (!new) {
            stopped = index;
            break;
        }
        index += new;
    }
    while (index <= limit && stopped < 0) {
        unsigned order = fitting(k, chosen, index, limit);
        int64_t pages = INT64_C(1) << order;
        int64_t rounded = k->rules->marks_upwards ? mark + pages - 1 : mark;
        if (!insert(k, inode, index, order, index == rounded / pages * pages)) {
            stopped = index;
            break;
        }
        index += pages;
    }
    if (index > start)
        lx_end_run(k, inode);
    return stopped;
}

void
lx_submit_at(struct lx_kernel *k, struct lx_handle *file, int64_t start, unsigned order)
{
    struct lx_state *state = &file->state;
    int64_t chosen = folio_order(k, file, order);
    if (chosen < 0) {
        lx_read_range(k, file, start, state->size, state->async_size);
        return;
    }
    int64_t stopped = read_folios(k, file, start, chosen);
    if (stopped < 0)
        return;
    int64_t done = k->rules->overshoots ? 0 : stopped - start;
    if (state->size > done)
        lx_read_range(k, file, stopped, state->size - done, state->async_size);
}
