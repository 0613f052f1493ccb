/* On-demand readahead, 2.6.23 and later: emulator/stepwise/ondemand.py. */
#include "ondemand.h"

#include "cursor.h"
#include "submit.h"

enum { TWO_MIB = 2 << 20, RAMP_STEP = 2, PLENTY = 1 << 20 };

static int64_t
forced_limit(const struct lx_kernel *k, const struct lx_handle *file)
{
    switch (k->rules->forced) {
    case LX_FORCED_TWO_MIB:
        return TWO_MIB / k->machine->page_size;
    case LX_FORCED_WINDOW:
        return k->window;
    case LX_FORCED_IO:
        return lx_max(k->machine->io_pages, file->state.pages);
    default:
        return PLENTY;
    }
}

static int64_t
largest(const struct lx_kernel *k, const struct lx_handle *file, int64_t request)
{
    int64_t pages = file->state.pages, io = k->machine->io_pages;
    if (k->rules->two_mib_window)
        return lx_min(pages, TWO_MIB / k->machine->page_size);
    if (k->rules->grows_to_io && request > pages && io > pages)
        return lx_min(request, io);
    return pages;
}

static bool
is_sequential(const struct lx_handle *file, int64_t page)
{
    return page == file->state.prev_page || page == file->state.prev_page + 1;
}

static void
submit(struct lx_kernel *k, struct lx_handle *file, unsigned order)
{
    lx_submit_at(k, file, file->state.start, order);
}

static void
start_at(struct lx_handle *file, int64_t page, int64_t request, int64_t limit)
{
    struct lx_state *state = &file->state;
    state->start = page;
    state->size = lx_initial_size(request, limit);
    state->async_size = state->size > request ? state->size - request : state->size;
}

/* 2.6.23 to 2.6.30. */
static void
decide_early(struct lx_kernel *k, struct lx_handle *file, int64_t page, int64_t request,
             bool marked)
{
    struct lx_state *state = &file->state;
    int64_t limit = largest(k, file, request), end = state->start + state->size;
    if (page && (page == end - state->async_size || page == end)) {
        state->start = end;
        state->size = state->async_size = lx_next_size(state->size, limit);
    } else if (!marked && !is_sequential(file, page) && request <= limit) {
        k->cause = LX_ASKED;
        lx_read_range(k, file, page, request, 0);
        return;
    } else if (marked && k->rules->algorithm == LX_ALGORITHM_STRAY) {
        int64_t hole =
            (int64_t)lx_next_hole(&file->inode->tree, (uint64_t)page, (uint64_t)limit + 1);
        if (hole - page > limit)
            return;
        state->start = hole;
        state->size = state->async_size = lx_next_size(hole - page, limit);
    } else {
        start_at(file, page, request, limit);
        if (marked) {
            state->start++;
            state->size = lx_next_size(state->size, limit);
        }
    }
    submit(k, file, 0);
}

static int64_t
expected(const struct lx_kernel *k, const struct lx_handle *file, const struct lx_folio *folio)
{
    const struct lx_state *state = &file->state;
    int64_t mark = state->start + state->size - state->async_size;
    int64_t pages = folio ? INT64_C(1) << folio->order : 1;
    if (k->rules->marks_upwards)
        mark += pages - 1;
    return mark / pages * pages;
}

static void
follow(const struct lx_kernel *k, struct lx_handle *file, int64_t limit)
{
    struct lx_state *state = &file->state;
    int64_t grown = lx_next_size(state->size, limit);
    state->start += state->size;
    state->size = k->rules->keeps_larger ? lx_max(state->size, grown) : grown;
    state->async_size = state->size;
}

static bool
is_stray(const struct lx_kernel *k, struct lx_handle *file, int64_t page, int64_t request,
         int64_t limit)
{
    struct lx_state *state = &file->state;
    struct lx_tree *tree = &file->inode->tree;
    int64_t found;
    if (k->rules->xarray) {
        found = lx_next_miss(tree, page + 1, (uint64_t)limit);
        if (found < 0 && k->rules->no_hole == LX_NO_HOLE_NOTHING)
            return false;
        if (found < 0)
            found = k->rules->no_hole == LX_NO_HOLE_BEHIND ? page + limit : page;
    } else {
        found = (int64_t)lx_next_hole(tree, (uint64_t)page + 1, (uint64_t)limit);
    }
    if (found - page > limit)
        return false;
    state->start = found;
    state->size = state->async_size = lx_next_size(found - page + request, limit);
    return true;
}

static bool
has_context(struct lx_kernel *k, struct lx_handle *file, int64_t page, int64_t request,
            int64_t limit)
{
    struct lx_state *state = &file->state;
    struct lx_tree *tree = &file->inode->tree;
    int64_t history;
    if (k->rules->xarray)
        history = page - 1 - lx_prev_miss(tree, page - 1, (uint64_t)limit, k->rules->scans_all);
    else
        history = (int64_t)lx_history(tree, (uint64_t)page, (uint64_t)limit);
    bool any = k->rules->context == LX_CONTEXT_ANY;
    bool enough = history > (any ? 0 : request);
    k->cause = enough ? LX_HISTORY : LX_ASKED;
    if (!enough)
        return false;
    if (history >= page)
        history *= 2;
    state->start = page;
    if (any) {
        state->size = state->async_size = lx_initial_size(history + request, limit);
    } else {
        state->size = lx_min(history + request, limit);
        state->async_size = 1;
    }
    return true;
}

static void
merge(const struct lx_kernel *k, struct lx_handle *file, int64_t limit)
{
    struct lx_state *state = &file->state;
    int64_t more = lx_next_size(state->size, limit);
    if (k->rules->merge == LX_MERGE_WHOLE || state->size + more <= limit) {
        state->async_size = more;
        state->size += more;
    } else {
        state->size = limit;
        state->async_size = limit / 2;
    }
}

/* 2.6.31 to 6.10. */
static void
decide(struct lx_kernel *k, struct lx_handle *file, int64_t page, int64_t request,
       const struct lx_folio *folio)
{
    struct lx_state *state = &file->state;
    int64_t limit = largest(k, file, request);
    if (page == 0) {
        start_at(file, page, request, limit);
    } else if (page == expected(k, file, folio) || page == state->start + state->size) {
        follow(k, file, limit);
    } else if (folio) {
        if (!is_stray(k, file, page, request, limit))
            return;
    } else if (request > limit || is_sequential(file, page)) {
        start_at(file, page, request, limit);
    } else if (!has_context(k, file, page, request, limit)) {
        lx_read_range(k, file, page, request, 0);
        return;
    }
    if (k->rules->merge && page == state->start && state->size == state->async_size)
        merge(k, file, limit);
    submit(k, file, folio ? folio->order : 0);
}

/* page_cache_sync_ra, 6.11 and later. */
static void
split_miss(struct lx_kernel *k, struct lx_handle *file, int64_t page, int64_t request)
{
    struct lx_state *state = &file->state;
    int64_t limit = largest(k, file, request);
    if (page == 0 || request > limit || is_sequential(file, page)) {
        start_at(file, page, request, limit);
        if (state->size <= request)
            state->async_size = state->size / 2;
    } else if (!has_context(k, file, page, request, limit)) {
        lx_read_range(k, file, page, request, 0);
        return;
    }
    state->order = 0;
    submit(k, file, 0);
}

static void
align(struct lx_handle *file, int64_t limit)
{
    struct lx_state *state = &file->state;
    state->order += RAMP_STEP;
    int64_t pages = lx_min(INT64_C(1) << lx_min(state->order, 62), limit & -limit);
    int64_t end = (state->start + state->size) / pages * pages;
    if (end > state->start)
        state->size = end - state->start;
    state->async_size = state->size;
}

/* page_cache_async_ra, 6.11 and later. */
static void
split_marker(struct lx_kernel *k, struct lx_handle *file, const struct lx_folio *folio,
             int64_t page, int64_t request)
{
    int64_t limit = largest(k, file, request);
    if (page == expected(k, file, folio))
        follow(k, file, limit);
    else if (!is_stray(k, file, page, request, limit))
        return;
    if (k->rules->orders == LX_ORDERS_RAMP)
        align(file, limit);
    submit(k, file, folio->order);
}

void
lx_miss(struct lx_kernel *k, struct lx_handle *file, int64_t page, int64_t request)
{
    k->cause = file->state.pages && !file->state.random ? LX_BY_SEQUENCE : LX_ASKED;
    if (!file->state.pages) {
        if (k->rules->zero_is_forced)
            lx_read_forced(k, file, page, 1);
    } else if (file->state.random) {
        lx_read_forced(k, file, page, lx_min(request, forced_limit(k, file)));
    } else if (k->rules->algorithm == LX_ALGORITHM_SPLIT) {
        split_miss(k, file, page, request);
    } else if (k->rules->algorithm == LX_ALGORITHM_ONDEMAND) {
        decide(k, file, page, request, NULL);
    } else {
        decide_early(k, file, page, request, false);
    }
}

void
lx_marker(struct lx_kernel *k, struct lx_handle *file, struct lx_folio folio, int64_t page,
          int64_t request)
{
    if (!file->state.pages)
        return;
    lx_unmark(&file->inode->tree, folio);
    k->cause = LX_BY_MARKER;
    if (k->rules->algorithm == LX_ALGORITHM_SPLIT)
        split_marker(k, file, &folio, page, request);
    else if (k->rules->algorithm == LX_ALGORITHM_ONDEMAND)
        decide(k, file, page, request, &folio);
    else
        decide_early(k, file, page, request, true);
}

void
lx_willneed(struct lx_kernel *k, struct lx_handle *file, int64_t start, int64_t pages)
{
    k->cause = LX_ADVICE;
    lx_read_forced(k, file, start, lx_min(pages, forced_limit(k, file)));
}
