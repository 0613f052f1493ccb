/* Readahead with a current and an ahead window, 2.6.11 to 2.6.22: emulator/stepwise/adaptive.py. */
#include "adaptive.h"

#include "submit.h"

enum { MIN_READAHEAD = 16 << 10, MAX_CACHE_HIT = 256 };

static void
turn_off(const struct lx_kernel *k, struct lx_state *state)
{
    state->start = state->ahead_start = state->ahead_size = 0;
    state->size = k->rules->off_is_negative ? -1 : 0;
    state->missed = state->in_cache = false;
}

static bool
read_window(struct lx_kernel *k, struct lx_handle *file, int64_t start, int64_t pages)
{
    struct lx_state *state = &file->state;
    if (lx_read_range(k, file, start, pages, 0)) {
        state->cache_hit = 0;
        return true;
    }
    state->cache_hit += pages;
    if (state->cache_hit < MAX_CACHE_HIT)
        return true;
    turn_off(k, state);
    state->in_cache = true;
    return false;
}

static int64_t
next_window(const struct lx_kernel *k, struct lx_state *state)
{
    if (!state->missed)
        return lx_next_size(state->size, state->pages);
    state->missed = false;
    int64_t least = MIN_READAHEAD / k->machine->page_size;
    return lx_min(lx_max(state->size - 2, least), state->pages);
}

static bool
make_ahead(struct lx_kernel *k, struct lx_handle *file, bool forced)
{
    struct lx_state *state = &file->state;
    state->ahead_size = next_window(k, state);
    state->ahead_start = state->start + state->size;
    k->cause = LX_BY_MARKER;
    bool done = read_window(k, file, state->ahead_start, state->ahead_size);
    if (!done && !forced)
        state->ahead_start = state->ahead_size = 0;
    return done;
}

static int64_t
initial_2_6_11(int64_t request, int64_t limit)
{
    int64_t size = lx_power_of_two(request);
    if (size <= limit / 64)
        return size * size;
    return size <= limit / 4 ? limit / 4 : limit;
}

static void
start_stream(struct lx_kernel *k, struct lx_handle *file, int64_t page, int64_t request)
{
    struct lx_state *state = &file->state;
    int64_t wanted = lx_min(request, state->pages);
    state->start = page;
    state->size = k->rules->off_is_negative ? initial_2_6_11(wanted, state->pages)
                                            : lx_initial_size(wanted, state->pages);
    if (read_window(k, file, page, state->size) && request >= state->pages)
        make_ahead(k, file, true);
}

static void
stay_in_ahead(const struct lx_kernel *k, struct lx_state *state)
{
    if (state->ahead_size && !k->rules->off_is_negative)
        state->prev_page = lx_min(state->prev_page, state->ahead_start + state->ahead_size - 1);
}

static void
go_on(struct lx_kernel *k, struct lx_handle *file)
{
    struct lx_state *state = &file->state;
    if (state->ahead_start == 0 && !make_ahead(k, file, false)) {
        stay_in_ahead(k, state);
    } else if (state->prev_page >= state->ahead_start) {
        state->start = state->ahead_start;
        state->size = state->ahead_size;
        make_ahead(k, file, false);
        stay_in_ahead(k, state);
    }
}

static bool
is_first(const struct lx_kernel *k, const struct lx_state *state, int64_t page, bool sequential)
{
    if (k->rules->off_is_negative)
        return (state->size == 0 && page == 0) || (state->size == -1 && sequential);
    return sequential && state->size == 0;
}

int64_t
lx_adaptive(struct lx_kernel *k, struct lx_handle *file, int64_t page, int64_t request)
{
    struct lx_state *state = &file->state;
    if (page == state->prev_page)
        page += --request > 0;
    bool sequential = page == state->prev_page + 1;
    state->prev_page = page;
    int64_t wanted = lx_min(request, state->pages);
    if (wanted == 0 || state->in_cache)
        return page + 1;
    k->cause = LX_BY_SEQUENCE;
    state->prev_page += wanted - 1;
    if (is_first(k, state, page, sequential)) {
        start_stream(k, file, page, request);
    } else if (!sequential || state->size <= 0) {
        turn_off(k, state);
        k->cause = LX_ASKED;
        read_window(k, file, page, wanted);
    } else {
        go_on(k, file);
    }
    return state->prev_page + 1;
}

void
lx_adaptive_miss(struct lx_kernel *k, struct lx_handle *file)
{
    struct lx_state *state = &file->state;
    state->missed = true;
    state->in_cache = false;
    if (!k->rules->off_is_negative)
        state->cache_hit = 0;
}
