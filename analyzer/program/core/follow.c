#include "follow.h"

#include "calls.h"
#include "finish.h"
#include "mappings.h"
#include "reads.h"
#include "threads.h"

#include <stdlib.h>

enum { MOST_AROUND = 512, LARGEST_ORDER = 20, LEAST_PAGE_SIZE = 512, MOST_PAGE_SIZE = 1 << 20 };

/* Position and length of a read in bytes: the pages seen, the arguments where known. */
static void
read_pages(struct fw_state *state, struct fw_thread *thread, uint32_t file,
           const struct fw_reading *reading, int64_t first, int64_t last)
{
    int64_t size = state->evidence->page_size, count = reading->count;
    uint32_t handle = fw_read_handle(state, thread, file, reading);

    if (fw_error_of(state))
        return;
    int64_t at = reading->has_position ? reading->position : state->images.handles[handle].position;
    bool known = reading->is_any && 0 < count && count < FW_LARGEST;

    if (known && at / size != first)
        at = first * size > last * size + 1 - count ? first * size : last * size + 1 - count;
    if (!known || at / size != first || (at + count - 1) / size != last) {
        at = first * size;
        count = (last - first + 1) * size;
    }
    fw_read_at(state, handle, file, reading, at, count);
}

/* A read(2), or a part of one, has found its pages (mm_filemap_get_pages). */
static void
pages_found(struct fw_state *state, struct fw_thread *thread, const int64_t *values)
{
    uint32_t file = (uint32_t)values[0];
    int64_t first = values[1], last = values[2];

    if (values[0] < 0 || last < first)
        return;
    if (last - first >= FW_MOST_PAGES)
        last = first + FW_MOST_PAGES - 1;
    bool goes_on =
        thread->last_file == file && thread->last_last == last && first > thread->last_first;
    struct fw_reading reading = thread->reading;

    if (!reading.several)
        thread->reading.is_any = false;
    thread->last_file = file;
    thread->last_first = first;
    thread->last_last = last;
    if (goes_on && (!reading.is_any || reading.several)) /* no other call has begun since */
        return;
    read_pages(state, thread, file, &reading, first, last);
}

static void
bring(struct fw_thread *thread, uint32_t file, int64_t first, int64_t end)
{
    thread->brings_file = file;
    thread->brings_first = first;
    thread->brings_end = end;
}

/* A fault has reached filemap_fault; after it has read the page in, perhaps once more. */
static void
faulted(struct fw_state *state, struct fw_thread *thread, const int64_t *values)
{
    uint32_t file = (uint32_t)values[0];
    int64_t page = values[1];

    if (values[0] < 0 || fw_fault_goes_on(state, thread, file, page))
        return;
    fw_fault_begin(state, thread, file, page, fw_fault_on(state, thread, file, page));
    bring(thread, file, page, page + 1);
}

/* Fault-around has mapped the cached ones of some pages. */
static void
mapped(struct fw_state *state, struct fw_thread *thread, const int64_t *values)
{
    uint32_t file = (uint32_t)values[0];
    int64_t first = values[1], last = values[2];

    if (values[0] < 0 || last < first || last - first >= MOST_AROUND)
        return;
    fw_fault_mapped(state, thread, file, first, last);
    fw_draft_mapped(&state->draft, file, first, last + 1);
}

/* A page entered the cache: by a read that has its own event, or in another way. */
static void
entered(struct fw_state *state, struct fw_thread *thread, const int64_t *values)
{
    static const struct fw_inserted UNKNOWN = {.stored = 1, .way = FW_NO_WAY};
    uint32_t file = (uint32_t)values[0];
    int64_t page = values[1], order = values[2] < LARGEST_ORDER ? values[2] : LARGEST_ORDER;
    bool own = values[3];

    if (values[0] < 0)
        return;
    fw_draft_entered(&state->draft, file, page, INT64_C(1) << (order < 0 ? 0 : order));
    if (!fw_fault_inserted(state, thread, file, page))
        fw_call_learn(state, thread, file);
    uint32_t row = fw_pairs_get(&state->inserted, file, (uint64_t)page);
    const struct fw_inserted *known = row == FW_NONE ? &UNKNOWN : &state->evidence->inserted[row];

    if (own && known->unread && thread->brings_file == file && thread->brings_first <= page &&
        page < thread->brings_end)
        fw_draft_hole(&state->draft, file, page);
    else if (!own || (known->unread && known->stored))
        fw_draft_present(&state->draft, file, page);
    else if (state->evidence->flags[file] & FW_LINK)
        fw_draft_single(&state->draft, file, page);
    else if (known->way == FW_NO_WAY)
        fw_draft_loose(&state->draft, file, page);
    else if (known->way != FW_FILLED)
        fw_miss(state, thread, file, page, known->way);
}

/* Several pages in one go without a window: advice, if its system call was not recorded. */
static void
unbounded(struct fw_state *state, struct fw_thread *thread, const int64_t *values)
{
    uint32_t file = (uint32_t)values[0];
    int64_t page = values[1], pages = values[2];

    if (values[0] < 0 || pages <= 0 || pages >= FW_LARGEST)
        return;
    bring(thread, file, page, page + pages);
    if (pages == 1 || state->evidence->shown & FW_SHOWS_ADVICE)
        return;
    uint32_t handle = fw_other(&state->images, thread->image.memory, file);

    if (handle == FW_NONE)
        handle = fw_open(&state->draft, file);
    fw_draft_willneed(&state->draft, handle, file, page, pages);
}

static void
take(struct fw_state *state, const struct fw_moment *moment)
{
    state->draft.now_ns = moment->time_ns;
    if (moment->what == FW_CLONED) {
        fw_cloned(state, moment->values[0], moment->values[1]);
        return;
    }
    uint32_t row = fw_thread_of(state, moment->pid);

    if (row == FW_NONE)
        return;
    struct fw_thread *thread = &state->threads[row];

    if (moment->what != FW_INSERT)
        fw_settle(state, thread);
    switch (moment->what) {
    case FW_FAULT:
        faulted(state, thread, moment->values);
        break;
    case FW_GET_PAGES:
        fw_fault_over(state, thread, FW_PERHAPS);
        pages_found(state, thread, moment->values);
        break;
    case FW_MAP_PAGES:
        mapped(state, thread, moment->values);
        break;
    case FW_INSERT:
        entered(state, thread, moment->values);
        break;
    case FW_RA_UNBOUNDED:
        unbounded(state, thread, moment->values);
        break;
    case FW_FORK:
        fw_forked(state, row, moment->values[0]);
        break;
    case FW_EXEC:
        fw_executed(state, thread);
        break;
    default:
        fw_fault_over(state, thread, FW_PERHAPS);
        fw_call(state, thread, moment->what, moment->values);
    }
}

static bool
is_page_event(uint8_t what)
{
    return what == FW_INSERT || (FW_FAULT <= what && what <= FW_RA_UNBOUNDED);
}

static bool
is_in_range(const struct fw_evidence *evidence)
{
    int64_t most = (INT64_C(1) << 62) / evidence->page_size;

    for (size_t i = 0; i < evidence->n_moments; i++) {
        const struct fw_moment *m = &evidence->moments[i];
        bool is_known = is_page_event(m->what) || m->what == FW_FORK || m->what == FW_EXEC ||
                        (FW_READ <= m->what && m->what <= FW_OTHER);
        if (!is_known || (is_page_event(m->what) &&
                          (m->values[0] < -1 || m->values[0] >= (int64_t)evidence->n_files ||
                           m->values[1] < 0 || m->values[1] >= most)))
            return false;
    }
    for (size_t i = 0; i < evidence->n_inserted; i++)
        if (evidence->inserted[i].file >= evidence->n_files ||
            evidence->inserted[i].way < FW_NO_WAY || evidence->inserted[i].way > FW_FILLED)
            return false;
    return true;
}

/* Pieces are in order of their files, not empty, and no longer than ``longest``. */
static bool
are_pieces(const struct fw_evidence *evidence, const struct fw_piece *pieces, size_t n,
           uint64_t longest)
{
    uint64_t most = (UINT64_C(1) << 62) / (uint64_t)evidence->page_size;

    for (size_t i = 0; i < n; i++)
        if (pieces[i].file >= evidence->n_files || (i && pieces[i].file < pieces[i - 1].file) ||
            pieces[i].first >= pieces[i].end || pieces[i].end > most ||
            pieces[i].end - pieces[i].first > longest)
            return false;
    return true;
}

static int
prepare(struct fw_state *state)
{
    const struct fw_evidence *e = state->evidence;

    state->segments = calloc(e->n_files + 2, sizeof(*state->segments));
    if (!state->segments)
        return FW_NO_MEMORY;
    for (size_t i = 0; i < e->n_segments; i++)
        state->segments[e->segments[i].file + 1] = i + 1;
    for (size_t file = 1; file <= e->n_files; file++)
        if (state->segments[file] < state->segments[file - 1])
            state->segments[file] = state->segments[file - 1];
    for (size_t i = 0; i < e->n_inserted; i++) {
        uint32_t *row = fw_pairs_at(&state->inserted, e->inserted[i].file, e->inserted[i].page);
        if (!row)
            return FW_NO_MEMORY;
        *row = (uint32_t)i;
    }
    for (size_t i = 0; i < e->n_cached; i++)
        fw_draft_cached(&state->draft, &e->cached[i]);
    return fw_error_of(state);
}

static void
follow(struct fw_state *state)
{
    for (size_t i = 0; i < state->evidence->n_moments && !fw_error_of(state); i++)
        take(state, &state->evidence->moments[i]);
    for (size_t i = 0; i < state->n_threads && !fw_error_of(state); i++) {
        fw_settle(state, &state->threads[i]);
        fw_fault_over(state, &state->threads[i], FW_PERHAPS);
    }
    if (!fw_error_of(state))
        fw_draft_finish(&state->draft);
}

static void
free_state(struct fw_state *state)
{
    fw_images_free(&state->images);
    fw_draft_free(&state->draft);
    fw_pairs_free(&state->by_pid);
    fw_pairs_free(&state->clones);
    fw_pairs_free(&state->inserted);
    fw_pairs_free(&state->waiting);
    free(state->threads);
    free(state->flags);
    free(state->segments);
}

int
fw_follow(const struct fw_evidence *evidence, struct fw_program *program)
{
    struct fw_state state = {.evidence = evidence};
    size_t known = evidence->n_moments + evidence->n_cached;

    *program = (struct fw_program){0};
    if (evidence->page_size < LEAST_PAGE_SIZE || evidence->page_size > MOST_PAGE_SIZE ||
        evidence->n_moments > UINT32_MAX / 8 || evidence->n_inserted > UINT32_MAX / 8 ||
        evidence->n_files > UINT32_MAX / 8 || !is_in_range(evidence) ||
        !are_pieces(evidence, evidence->segments, evidence->n_segments, UINT64_MAX) ||
        !are_pieces(evidence, evidence->cached, evidence->n_cached, FW_MOST_PAGES))
        return FW_OUT_OF_RANGE;
    int error = fw_images_init(&state.images, FW_MOST_HELD + FW_EACH * known);

    state.draft =
        (struct fw_draft){.evidence = evidence, .images = &state.images, .program = program};
    state.draft.pages.most = FW_MOST_WORDS + FW_EACH * known;
    if (!error)
        error = prepare(&state);
    if (!error)
        follow(&state);
    error = error ? error : fw_error_of(&state);
    free_state(&state);
    return error;
}

void
fw_free_program(struct fw_program *program)
{
    free(program->operations);
    free(program->times);
    free(program->mappings);
    free(program->handles);
    free(program->holes);
}
