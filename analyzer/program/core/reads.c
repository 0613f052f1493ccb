/* Reads, faults, and pages whose kind of read no event shows; see ../../reference/follow.py. */
#include "reads.h"

#include "descriptors.h"
#include "mappings.h"
#include "threads.h"

static int64_t
greatest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

uint32_t
fw_read_handle(struct fw_state *state, struct fw_thread *thread, uint32_t file,
               const struct fw_reading *reading)
{
    struct fw_images *images = &state->images;
    uint32_t handle;

    if (!reading->is_any) {
        handle = fw_other(images, thread->kernel_reads, file);
        if (handle == FW_NONE) {
            handle = fw_open(&state->draft, file);
            fw_other_set(images, thread->image.memory, file, handle);
            fw_other_set(images, thread->kernel_reads, file, handle);
        }
        return handle;
    }
    handle = fw_descriptor(images, thread->image, reading->descriptor);
    if (handle == FW_NONE && !(state->evidence->shown & FW_SHOWS_DUPLICATES))
        handle = fw_original_of(images, thread->image, reading->descriptor, file);
    uint32_t of = handle == FW_NONE ? FW_NONE : images->handles[handle].file;

    if (handle == FW_NONE || (of != FW_NONE && of != file))
        handle = fw_open(&state->draft, file);
    fw_descriptor_set(images, thread->image, reading->descriptor, handle);
    if (!images->error && images->handles[handle].file == FW_NONE)
        fw_know(&state->draft, handle, file);
    if (fw_other(images, thread->image.memory, file) == FW_NONE)
        fw_other_set(images, thread->image.memory, file, handle);
    return handle;
}

void
fw_read_at(struct fw_state *state, uint32_t handle, uint32_t file, const struct fw_reading *reading,
           int64_t position, int64_t count)
{
    int64_t end = fw_draft_read(&state->draft, handle, file, position, count);

    if (!reading->is_any || !reading->has_position)
        state->images.handles[handle].position = end;
}

/* Map a file whose mapping was not recorded: by its program headers, or else whole. */
static uint32_t
assume(struct fw_state *state, struct fw_thread *thread, uint32_t file, int64_t page)
{
    struct fw_images *images = &state->images;
    struct fw_image image = thread->image;
    uint32_t handle = fw_other(images, image.memory, file);

    if (handle == FW_NONE)
        handle = fw_open(&state->draft, file);
    fw_other_set(images, image.memory, file, handle);
    for (size_t i = state->segments[file]; i < state->segments[file + 1]; i++) {
        const struct fw_piece *segment = &state->evidence->segments[i];
        struct fw_area area = {.first = (int64_t)segment->first,
                               .end = (int64_t)segment->end,
                               .start = (int64_t)segment->first,
                               .handle = handle,
                               .row = FW_NONE,
                               .flags = segment->executable ? FW_EXECUTES : 0};
        fw_add(images, image.memory, &area);
    }
    uint32_t found = images->error ? 0 : fw_find(images, image, file, page);
    int64_t *assumed = state->draft.program->assumed;

    if (!found) {
        struct fw_area area = {.end = greatest(page + 1, fw_pages_of(&state->draft, file)),
                               .handle = handle,
                               .row = FW_NONE};
        assumed[FW_WHOLE]++;
        fw_add(images, image.memory, &area);
        return images->error ? 0 : fw_find(images, image, file, page);
    }
    if (state->evidence->flags[file] & FW_PROGRAM)
        assumed[FW_HEADERS]++;
    return found;
}

size_t
fw_fault_on(struct fw_state *state, struct fw_thread *thread, uint32_t file, int64_t page)
{
    struct fw_images *images = &state->images;
    /* Exec faults on what it has read before its event: not through the old mappings. */
    bool executes = fw_other(images, thread->kernel_reads, file) != FW_NONE &&
                    !fw_maps(images, thread->image, file);
    uint32_t area = executes ? 0 : fw_find(images, thread->image, file, page);

    if (!area)
        area = assume(state, thread, file, page);
    if (!area || fw_error_of(state))
        return 0;
    return fw_draft_fault(&state->draft, area, file, page);
}

/* The number of pages that the call in progress can touch; 0: unknown. */
static int64_t
most_of(const struct fw_state *state, const struct fw_thread *thread)
{
    int64_t count = thread->reading.count;

    if (!thread->reading.is_any)
        return 0;
    if (count < 2 || count >= FW_LARGEST)
        count = 2;
    return (count - 2) / state->evidence->page_size + 2;
}

/* How a file's pages are mostly touched: by a mapping, or by the call in progress. */
static int8_t
likely(const struct fw_state *state, const struct fw_thread *thread, uint32_t file)
{
    const struct fw_images *images = &state->images;

    if (thread->reading.is_any) {
        uint32_t handle = fw_descriptor(images, thread->image, thread->reading.descriptor);
        uint32_t of = handle == FW_NONE ? FW_NONE : images->handles[handle].file;
        return of == FW_NONE || of == file ? FW_BY_READ : FW_BY_FAULT;
    }
    if (state->evidence->flags[file] & FW_PROGRAM || fw_maps(images, thread->image, file))
        return FW_BY_FAULT;
    return FW_BY_READ;
}

static bool
extend(struct fw_missed *missed, uint32_t file, int64_t page, int8_t way, int64_t most)
{
    int64_t end = most ? missed->first + most : missed->last + 2;
    bool fits = missed->is_any && missed->file == file && missed->way == way &&
                missed->last < page && page < end;

    if (fits)
        missed->last = page;
    return fits;
}

void
fw_miss(struct fw_state *state, struct fw_thread *thread, uint32_t file, int64_t page, int8_t way)
{
    int64_t most = way == FW_BY_ADVICE ? 0 : most_of(state, thread);

    state->draft.program->assumed[way == FW_UNKNOWN ? FW_KINDS : FW_FLAGS]++;
    if (extend(&thread->missed, file, page, way == FW_UNKNOWN ? FW_BY_READ : way, most))
        return;
    fw_settle(state, thread);
    if (way == FW_UNKNOWN)
        way = likely(state, thread, file);
    if (way == FW_BY_FAULT)
        fw_fault_on(state, thread, file, page);
    else
        thread->missed = (struct fw_missed){
            .first = page, .last = page, .file = file, .way = way, .is_any = true};
}

/* The read(2) of a known length that missed pages, as far as the events show it. */
static void
read_around(struct fw_state *state, const struct fw_missed *missed, uint32_t handle,
            const struct fw_reading *reading)
{
    int64_t size = state->evidence->page_size, count = reading->count;
    int64_t position =
        reading->has_position ? reading->position : state->images.handles[handle].position;
    int64_t first = missed->first * size, last = missed->last * size;

    if (position / size > missed->first || last >= position + count) {
        position = greatest(first, last + 1 - count);
        count = greatest(count, last + 1 - position);
    }
    fw_read_at(state, handle, missed->file, reading, position, count);
}

/* Reads without a recorded call. */
static void
read_guessed(struct fw_state *state, const struct fw_missed *missed, uint32_t handle,
             const struct fw_reading *reading)
{
    enum { WHOLE = 128 << 10 };
    int64_t size = state->evidence->page_size, pages = missed->last + 1 - missed->first;

    state->draft.program->assumed[FW_CALLS] += pages;
    if (!missed->first && pages == fw_pages_of(&state->draft, missed->file) &&
        pages <= WHOLE / size) {
        fw_read_at(state, handle, missed->file, reading, 0, pages * size);
        return;
    }
    for (int64_t page = missed->first; page <= missed->last && !fw_error_of(state); page++)
        fw_read_at(state, handle, missed->file, reading, page * size, size);
}

void
fw_settle(struct fw_state *state, struct fw_thread *thread)
{
    struct fw_missed missed = thread->missed;
    struct fw_reading reading = thread->reading;

    thread->missed.is_any = false;
    if (!missed.is_any)
        return;
    if (missed.way == FW_BY_ADVICE) {
        uint32_t other = fw_other(&state->images, thread->image.memory, missed.file);
        if (other == FW_NONE)
            other = fw_open(&state->draft, missed.file);
        fw_draft_willneed(&state->draft, other, missed.file, missed.first,
                          missed.last + 1 - missed.first);
        return;
    }
    thread->reading.is_any = false;
    uint32_t handle = fw_read_handle(state, thread, missed.file, &reading);

    if (fw_error_of(state))
        return;
    if (reading.is_any && 0 < reading.count && reading.count < FW_LARGEST)
        read_around(state, &missed, handle, &reading);
    else
        read_guessed(state, &missed, handle, &reading);
}
