/* Page faults on mapped files: emulator/stepwise/faults.py. */
#include "faults.h"

#include "adaptive.h"
#include "memory.h"
#include "ondemand.h"
#include "submit.h"

enum { LOTS_OF_MISSES = 100, MISSES_KEPT = 1000, HUGE_FOLIO = 2 << 20 };

static bool
is_cached(const struct lx_handle *file, int64_t page)
{
    return lx_has(&file->inode->tree, (uint64_t)page);
}

/* An entry goes with its page, and comes back with it. */
static bool
is_filled(const struct lx_kernel *k, struct lx_area *area, int64_t page)
{
    return lx_has(&area->filled, (uint64_t)page) &&
           (!k->memory.limit || is_cached(area->file, page));
}

/* Put page table entries for pages [first, end). */
static void
fill(struct lx_kernel *k, struct lx_area *area, int64_t first, int64_t end)
{
    lx_insert_all(&k->arena, &area->filled, (uint64_t)first, (uint64_t)end);
}

/* Whether a folio can be mapped whole: in the VMA, one page table and the file. */
static bool
fits(const struct lx_kernel *k, const struct lx_area *area, struct lx_folio folio)
{
    int64_t index = (int64_t)folio.index, pages = INT64_C(1) << folio.order;
    int64_t first = area->address + index - area->start, table = k->machine->table_pages;
    return area->start <= index && index + pages <= area->start + area->pages &&
           first / table == (first + pages - 1) / table && index + pages <= area->file->inode->last;
}

/* The single pages among ``bits`` of a leaf: map them, return how many count. */
static int64_t
map_singles(struct lx_kernel *k, struct lx_area *area, int64_t page, uint64_t bits)
{
    uint64_t new = lx_insert_bits(&k->arena, &area->filled, (uint64_t)page, bits);
    int64_t first = page / LX_SLOTS * LX_SLOTS;
    for (uint64_t left = k->memory.limit ? new : 0; left; left &= left - 1)
        lx_memory_map(k, area, first + __builtin_ctzll(left));
    return __builtin_popcountll(k->rules->around == LX_AROUND_FILLED ? new : bits);
}

/* A large folio, of which [at, end) is tried: map it, return how many pages count. */
static int64_t
map_large(struct lx_kernel *k, struct lx_area *area, struct lx_folio folio, int64_t at, int64_t end)
{
    int64_t behind = (int64_t)(folio.index + (UINT64_C(1) << folio.order));
    if (k->rules->around >= LX_AROUND_FOLIO && fits(k, area, folio))
        at = (int64_t)folio.index;
    else
        behind = lx_min(behind, end);
    int64_t counted = behind - at;
    if (k->rules->around == LX_AROUND_FILLED)
        for (int64_t page = at; page < behind; page++)
            counted -= is_filled(k, area, page);
    for (int64_t page = at; k->memory.limit && page < behind; page++)
        if (!is_filled(k, area, page))
            lx_memory_map(k, area, page);
    fill(k, area, at, behind);
    return counted;
}

/* The pages [first, end) that fault-around tries (do_fault_around). */
static void
around_window(const struct lx_kernel *k, const struct lx_area *area, int64_t page, int64_t *first,
              int64_t *end)
{
    int64_t around = k->machine->fault_around, table = k->machine->table_pages;
    int64_t vpn = area->address + page - area->start;
    int64_t low = lx_max(lx_max(vpn / around * around, area->address), vpn / table * table);
    int64_t high =
        lx_min(lx_min(low + around, area->address + area->pages), (vpn / table + 1) * table);
    *first = low - vpn + page;
    *end = lx_min(high - vpn + page, area->file->inode->last + 1);
}

/* Whether faults of an area change mmap_miss. */
static bool
counts(const struct lx_kernel *k, const struct lx_area *area)
{
    return k->rules->exec_counts || !(area->flags & (LX_EXEC | LX_MAP_SEQUENTIAL));
}

/* The page from which on readahead of a fault on an area is not read; 0: there is none. */
static int64_t
stop_of(const struct lx_kernel *k, const struct lx_area *area)
{
    bool code = k->rules->within_mapping == LX_WITHIN_MAPPING_CODE && area->flags & LX_EXEC;
    if (code || k->rules->within_mapping == LX_WITHIN_MAPPING_ALL)
        return area->start + area->pages;
    return 0;
}

/* The first page that is read around a page. */
static int64_t
around_start(const struct lx_kernel *k, const struct lx_area *area, int64_t page)
{
    return lx_max(k->stop ? area->start : 0, page - area->file->state.pages / 2);
}

/* do_fault_around, filemap_map_pages; whether the page was mapped. */
static bool
map_around(struct lx_kernel *k, struct lx_area *area, int64_t page, bool retry)
{
    struct lx_tree *tree = &area->file->inode->tree;
    struct lx_state *state = &area->file->state;
    int64_t at, end, counted = 0;
    around_window(k, area, page, &at, &end);
    while (at < end) {
        const struct lx_leaf *leaf = lx_leaf_of(tree, (uint64_t)at);
        int64_t next = lx_min((at / LX_SLOTS + 1) * LX_SLOTS, end);
        uint64_t bits =
            leaf ? leaf->present & ~leaf->marked & lx_bits((uint64_t)at, (uint64_t)end) : 0;
        uint64_t large = bits ? bits & leaf->large : 0;
        if (bits & ~large)
            counted += map_singles(k, area, at, bits & ~large);
        while (large) {
            int64_t first = at / LX_SLOTS * LX_SLOTS + __builtin_ctzll(large);
            struct lx_folio folio = {.index = (uint64_t)first, .order = 0};
            lx_find(tree, (uint64_t)first, &folio);
            counted += map_large(k, area, folio, first, end);
            int64_t behind = (int64_t)(folio.index + (UINT64_C(1) << folio.order));
            next = lx_max(next, behind);
            large &= behind % LX_SLOTS ? UINT64_MAX << behind % LX_SLOTS : 0;
        }
        at = next;
    }
    if (k->rules->around == LX_AROUND_TOUCHED)
        counted = is_filled(k, area, page);
    if (counts(k, area) && (k->rules->retry_counts || !retry))
        state->miss = lx_max(state->miss - counted, 0);
    return is_filled(k, area, page);
}

/* Read around unless misses outweigh hits; whether that brought the page in. */
static bool
read_around_by_counts(struct lx_kernel *k, struct lx_area *area, int64_t page)
{
    struct lx_handle *file = area->file;
    struct lx_state *state = &file->state;
    if (++state->miss > state->hit + LOTS_OF_MISSES)
        return false;
    k->cause = LX_AROUND;
    if (state->pages)
        lx_read_range(k, file, around_start(k, area, page), state->pages, 0);
    return is_cached(file, page);
}

static void
mark_if_found(struct lx_kernel *k, struct lx_handle *file, int64_t page, int64_t request)
{
    struct lx_folio folio;
    if (lx_is_marked(&file->inode->tree, (uint64_t)page) &&
        lx_find(&file->inode->tree, (uint64_t)page, &folio))
        lx_marker(k, file, folio, page, request);
}

/* filemap_nopage to 2.6.22, filemap_fault to 2.6.30. */
static void
early_fault(struct lx_kernel *k, struct lx_area *area, int64_t page)
{
    struct lx_handle *file = area->file;
    struct lx_state *state = &file->state;
    bool adaptive = k->rules->algorithm == LX_ALGORITHM_ADAPTIVE, around = false;
    bool random = area->flags & LX_MAP_RANDOM;
    bool sequential = area->flags & LX_MAP_SEQUENTIAL && !random;
    if (sequential && adaptive) {
        lx_adaptive(k, file, page, 1);
    } else if (sequential) {
        if (!is_cached(file, page))
            lx_miss(k, file, page, 1);
        mark_if_found(k, file, page, 1);
    }
    if (!is_cached(file, page)) {
        if (sequential && adaptive)
            lx_adaptive_miss(k, file);
        else if (!random && !sequential)
            around = read_around_by_counts(k, area, page);
        lx_read_single(k, file->inode, page);
    }
    if (!around && k->rules->fault == LX_FAULT_MISS_COUNT)
        state->miss--;
    else if (!around)
        state->hit++;
    if (k->rules->fault != LX_FAULT_HIT_COUNT)
        state->prev_page = page;
}

/* do_async_mmap_readahead. */
static void
async_readahead(struct lx_kernel *k, struct lx_area *area, int64_t page)
{
    struct lx_state *state = &area->file->state;
    if (area->flags & LX_MAP_RANDOM || (k->rules->xarray && !state->pages))
        return;
    if (counts(k, area)) {
        bool again =
            k->rules->marker_retries && lx_is_marked(&area->file->inode->tree, (uint64_t)page);
        state->miss = lx_max(state->miss - (again ? 2 : 1), 0);
    }
    mark_if_found(k, area->file, page, state->pages);
}

static void
read_huge(struct lx_kernel *k, struct lx_area *area, int64_t page)
{
    struct lx_state *state = &area->file->state;
    int64_t pages = k->machine->table_pages;
    if (k->rules->huge_folio)
        pages = lx_min(pages, lx_max(HUGE_FOLIO / k->machine->page_size, 1));
    unsigned order = 0;
    while (INT64_C(1) << (order + 1) <= pages)
        order++;
    pages = INT64_C(1) << order;
    state->size = area->flags & LX_MAP_RANDOM ? pages : 2 * pages;
    state->async_size = pages;
    state->order = order;
    k->cause = LX_BY_HUGE;
    lx_submit_at(k, area->file, page / pages * pages, order);
}

/* VM_EXEC, or read-around. */
static void
read_about(struct lx_kernel *k, struct lx_area *area, int64_t page)
{
    struct lx_state *state = &area->file->state;
    if (k->rules->exec_window && area->flags & LX_EXEC) {
        int64_t align = INT64_C(1) << k->machine->exec_order;
        state->order = k->machine->exec_order;
        state->start = lx_max(page / align * align, area->start);
        int64_t end = lx_divide_up(state->start + state->pages, align) * align;
        state->size = lx_min(end, area->start + area->pages) - state->start;
        state->async_size = 0;
        k->cause = LX_BY_EXEC;
    } else {
        k->cause = LX_AROUND;
        state->start = around_start(k, area, page);
        state->size = state->pages;
        state->async_size = k->rules->fault == LX_FAULT_SEQUENTIAL ? 0 : state->pages / 4;
        state->order = 0;
    }
    lx_submit_at(k, area->file, state->start, 0);
}

/* do_sync_mmap_readahead. */
static void
sync_readahead(struct lx_kernel *k, struct lx_area *area, int64_t page)
{
    struct lx_state *state = &area->file->state;
    bool huge = k->rules->huge_window && area->flags & LX_HUGE &&
                (!k->rules->huge_folio || area->file->inode->large_folios);
    bool sequential = area->flags & LX_MAP_SEQUENTIAL;
    bool executes = k->rules->exec_window && area->flags & LX_EXEC;
    bool early = k->rules->fault == LX_FAULT_SEQUENTIAL;
    if (huge && !k->rules->huge_counts) {
        read_huge(k, area, page);
        return;
    }
    if (!huge) {
        if ((area->flags & LX_MAP_RANDOM && !executes) || !state->pages)
            return;
        if (sequential || (early && page - 1 == state->prev_page)) {
            lx_miss(k, area->file, page, state->pages);
            return;
        }
    }
    if (!sequential && counts(k, area)) {
        if (state->miss < MISSES_KEPT || early)
            state->miss++;
        if (state->miss > LOTS_OF_MISSES)
            return;
    }
    if (huge)
        read_huge(k, area, page);
    else
        read_about(k, area, page);
}

/* filemap_fault, 2.6.31 and later. */
static void
fault(struct lx_kernel *k, struct lx_area *area, int64_t page)
{
    struct lx_handle *file = area->file;
    if (is_cached(file, page)) {
        async_readahead(k, area, page);
    } else {
        int64_t folio = (int64_t)k->rules->mapped_folio_kb * 1024;
        k->least_order = lx_log_two(folio / k->machine->page_size);
        sync_readahead(k, area, page);
        k->least_order = 0;
        if (!is_cached(file, page))
            lx_read_single(k, file->inode, page);
        if (k->rules->fault_again)
            async_readahead(k, area, page);
    }
    if (k->rules->fault == LX_FAULT_SEQUENTIAL)
        file->state.prev_page = page;
}

/* finish_fault. */
static void
finish(struct lx_kernel *k, struct lx_area *area, int64_t page, bool write)
{
    struct lx_folio folio;
    bool copied = write && !(area->flags & LX_SHARED);
    fill(k, area, page, page + 1);
    if (copied)
        return;
    lx_memory_touch(k, area, page);
    if (k->rules->around >= LX_AROUND_FOLIO &&
        lx_find(&area->file->inode->tree, (uint64_t)page, &folio) && fits(k, area, folio)) {
        int64_t first = (int64_t)folio.index, behind = first + (INT64_C(1) << folio.order);
        fill(k, area, first, behind);
        for (int64_t other = first; k->memory.limit && other < behind; other++)
            lx_memory_map(k, area, other);
    }
}

static bool
faults_around(const struct lx_kernel *k, bool write)
{
    return !write && k->rules->around && k->machine->fault_around > 1;
}

enum lx_fault_left
lx_fault_begin(struct lx_kernel *k, struct lx_area *area, int64_t page, bool write)
{
    if (page > area->file->inode->last)
        return LX_FAULT_OVER;
    if (is_filled(k, area, page) || (faults_around(k, write) && map_around(k, area, page, false))) {
        lx_memory_touch(k, area, page);
        return LX_FAULT_MAPPED;
    }
    bool absent = !is_cached(area->file, page);
    k->stop = stop_of(k, area);
    k->faulting = !(area->flags & (LX_MAP_SEQUENTIAL | LX_MAP_RANDOM));
    if (k->rules->fault < LX_FAULT_SEQUENTIAL)
        early_fault(k, area, page);
    else
        fault(k, area, page);
    k->stop = 0;
    k->faulting = false;
    return absent ? LX_FAULT_AGAIN : LX_FAULT_FINISH;
}

void
lx_fault_end(struct lx_kernel *k, struct lx_area *area, int64_t page, bool write,
             enum lx_fault_left left)
{
    if (left == LX_FAULT_AGAIN && faults_around(k, write) && map_around(k, area, page, true))
        lx_memory_touch(k, area, page);
    else
        finish(k, area, page, write);
}
