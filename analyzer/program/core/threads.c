/* Threads, and the faults that they are in. */
#include "threads.h"

#include "fork.h"

enum { CLONE_VM = 0x100, CLONE_FILES = 0x400 }; /* include/uapi/linux/sched.h */

int
fw_error_of(const struct fw_state *state)
{
    if (state->error)
        return state->error;
    return state->images.error ? state->images.error : state->draft.error;
}

static struct fw_thread
thread_of(struct fw_state *state, struct fw_image image)
{
    return (struct fw_thread){.image = image,
                              .kernel_reads = fw_memory_new(&state->images),
                              .entered = FW_OTHER,
                              .last_file = FW_NONE,
                              .last_first = -1,
                              .last_last = -1,
                              .brings_file = FW_NONE};
}

/* The row of a thread; a new, empty one for an unknown thread. */
static uint32_t
row_of(struct fw_state *state, int64_t pid, bool *is_new)
{
    uint32_t *row = fw_pairs_at(&state->by_pid, (uint64_t)pid, 0);

    *is_new = row && *row == FW_NONE;
    if (!row || (*is_new && !fw_reserve((void **)&state->threads, &state->room_threads,
                                        state->n_threads + 1, sizeof(*state->threads)))) {
        state->error = FW_NO_MEMORY;
        return FW_NONE;
    }
    if (*is_new)
        *row = (uint32_t)state->n_threads++;
    return *row;
}

uint32_t
fw_thread_of(struct fw_state *state, int64_t pid)
{
    bool is_new;
    uint32_t row = row_of(state, pid, &is_new);

    if (row != FW_NONE && is_new)
        state->threads[row] = thread_of(state, fw_image_new(&state->images));
    return row;
}

void
fw_cloned(struct fw_state *state, int64_t pid, int64_t flags)
{
    uint32_t *row = fw_pairs_at(&state->clones, (uint64_t)pid, 0);

    if (row && *row == FW_NONE &&
        fw_reserve((void **)&state->flags, &state->room_flags, state->n_flags + 1,
                   sizeof(*state->flags)))
        *row = (uint32_t)state->n_flags++;
    if (row && *row != FW_NONE)
        state->flags[*row] = flags & (CLONE_VM | CLONE_FILES);
    else
        state->error = FW_NO_MEMORY;
}

/* The flags a child is made with; threads share everything, and so does a child with unknown flags.
 */
static int64_t
flags_of(struct fw_state *state, int64_t pid)
{
    uint32_t row = fw_pairs_get(&state->clones, (uint64_t)pid, 0);
    int64_t flags = row == FW_NONE ? -1 : state->flags[row];

    if (row != FW_NONE)
        state->flags[row] = -1;
    return flags < 0 ? CLONE_VM | CLONE_FILES : flags;
}

static uint32_t *
waiting_at(struct fw_state *state, const struct fw_fault *fault)
{
    uint32_t *number = fw_pairs_at(&state->waiting, fault->file, (uint64_t)fault->page);

    if (!number)
        state->error = FW_NO_MEMORY;
    else if (*number == FW_NONE)
        *number = 0;
    return number;
}

/* Take a thread out of its fault. */
static struct fw_fault
without_fault(struct fw_state *state, struct fw_thread *thread)
{
    struct fw_fault fault = thread->fault;

    thread->fault = (struct fw_fault){0};
    if (fault.is_any && fault.missed) {
        uint32_t *number = waiting_at(state, &fault);
        if (number)
            --*number;
    }
    return fault;
}

void
fw_forked(struct fw_state *state, uint32_t parent, int64_t pid)
{
    int64_t flags = flags_of(state, pid);
    struct fw_image image = fw_image_forked(&state->images, state->threads[parent].image,
                                            flags & CLONE_FILES, flags & CLONE_VM);
    bool is_new;
    uint32_t row = row_of(state, pid, &is_new);

    if (row == FW_NONE)
        return;
    if (!is_new) {
        struct fw_thread *old = &state->threads[row];
        without_fault(state, old);
        fw_image_leave(&state->images, old->image);
        fw_memory_leave(&state->images, old->kernel_reads);
    }
    state->threads[row] = thread_of(state, image);
}

void
fw_executed(struct fw_state *state, struct fw_thread *thread)
{
    thread->image = fw_image_executed(&state->images, thread->image, thread->kernel_reads);
    thread->kernel_reads = fw_memory_new(&state->images);
    thread->reading.is_any = false;
    thread->entered = FW_OTHER;
}

void
fw_fault_over(struct fw_state *state, struct fw_thread *thread, enum fw_writes writes)
{
    if (!thread->fault.is_any)
        return;
    struct fw_fault fault = without_fault(state, thread);

    if (writes == FW_WRITES || (writes == FW_PERHAPS && fault.present && !fault.missed))
        fw_draft_writes(&state->draft, fault.row);
}

static bool
is_on(const struct fw_fault *fault, uint32_t file, int64_t page)
{
    return fault->is_any && fault->file == file && fault->page == page;
}

bool
fw_fault_goes_on(struct fw_state *state, struct fw_thread *thread, uint32_t file, int64_t page)
{
    bool again = is_on(&thread->fault, file, page) && thread->fault.missed;

    fw_fault_over(state, thread, again ? FW_WRITES : FW_PERHAPS);
    return again;
}

void
fw_fault_begin(struct fw_state *state, struct fw_thread *thread, uint32_t file, int64_t page,
               size_t row)
{
    if (!(state->evidence->shown & FW_SHOWS_MAPPED))
        return;
    uint32_t number = fw_pairs_get(&state->waiting, file, (uint64_t)page);
    bool waits = fw_draft_has(&state->draft, file, page) && number != FW_NONE && number > 0;

    thread->fault = (struct fw_fault){
        .is_any = true, .file = file, .page = page, .row = row, .present = !waits};
}

bool
fw_fault_inserted(struct fw_state *state, struct fw_thread *thread, uint32_t file, int64_t page)
{
    if (!is_on(&thread->fault, file, page))
        return false;
    if (!thread->fault.missed) {
        uint32_t *number = waiting_at(state, &thread->fault);
        if (number)
            ++*number;
    }
    thread->fault.missed = true;
    return true;
}

void
fw_fault_mapped(struct fw_state *state, struct fw_thread *thread, uint32_t file, int64_t first,
                int64_t last)
{
    const struct fw_fault *fault = &thread->fault;
    bool reads =
        fault->is_any && fault->file == file && first <= fault->page && fault->page <= last;

    fw_fault_over(state, thread, reads ? FW_WRITES_NOT : FW_PERHAPS);
}
