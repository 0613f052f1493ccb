#include "draft.h"

#include "mappings.h"
#include "rows.h"

#include <stdlib.h>

static void
fail(struct fw_draft *draft, int error)
{
    if (error && !draft->error)
        draft->error = error;
}

static void
note(struct fw_draft *draft, enum fw_set set, uint32_t file, int64_t first, int64_t end)
{
    if (first < end)
        fail(draft, fw_pages_add(&draft->pages, set, file, (uint64_t)first, (uint64_t)end));
}

static int64_t
least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void
fw_draft_free(struct fw_draft *draft)
{
    fw_pages_free(&draft->pages);
    free(draft->loose);
}

static void
add(struct fw_draft *draft, uint8_t op, uint32_t handle, uint32_t mapping, int64_t at,
    int64_t length)
{
    fail(draft, fw_append(draft->program, draft->now_ns,
                          (struct fw_operation){.op = op,
                                                .handle = handle,
                                                .mapping = mapping,
                                                .at = (uint64_t)at,
                                                .length = (uint64_t)length}));
}

void
fw_know(struct fw_draft *draft, uint32_t row, uint32_t file)
{
    struct fw_program *p = draft->program;

    if (!fw_reserve((void **)&p->handles, &p->room_handles, p->n_handles + 1,
                    sizeof(*p->handles))) {
        fail(draft, FW_NO_MEMORY);
        return;
    }
    if (draft->images->handles[row].file == FW_NONE)
        fw_file_known(draft->images, row, file);
    struct fw_handle *handle = &draft->images->handles[row];

    handle->row = (uint32_t)p->n_handles;
    p->handles[p->n_handles++] = file;
    if (handle->advice)
        fw_draft_advise(draft, handle->advice, row);
}

uint32_t
fw_open(struct fw_draft *draft, uint32_t file)
{
    uint32_t handle = fw_handle_new(draft->images);

    if (!draft->images->error)
        fw_know(draft, handle, file);
    return handle;
}

int64_t
fw_draft_read(struct fw_draft *draft, uint32_t handle, uint32_t file, int64_t position,
              int64_t count)
{
    int64_t size = draft->evidence->sizes[file], page = draft->evidence->page_size;
    int64_t end = position + count;

    add(draft, FW_OP_READ, draft->images->handles[handle].row, 0, position, count);
    if (size >= 0)
        end = least(end, size);
    int64_t first = position / page;

    note(draft, FW_TOUCHED, file, first,
         least(end / page + (end % page > 0), first + FW_MOST_PAGES));
    return end;
}

/* The row of an area's mapping. */
static uint32_t
row_of(struct fw_draft *draft, struct fw_area *area, uint32_t handle_row)
{
    struct fw_program *p = draft->program;

    if (area->row != FW_NONE)
        return area->row;
    if (!fw_reserve((void **)&p->mappings, &p->room_mappings, p->n_mappings + 1,
                    sizeof(*p->mappings))) {
        fail(draft, FW_NO_MEMORY);
        return 0;
    }
    p->mappings[p->n_mappings] = (struct fw_mapping){.handle = handle_row,
                                                     .start = (uint64_t)area->start,
                                                     .pages = (uint64_t)(area->end - area->first),
                                                     .address = (uint64_t)area->first,
                                                     .flags = area->flags};
    return area->row = (uint32_t)p->n_mappings++;
}

size_t
fw_draft_fault(struct fw_draft *draft, uint32_t row, uint32_t file, int64_t page)
{
    struct fw_area *area = &draft->images->areas.items[row];

    if (draft->images->handles[area->handle].row == FW_NONE)
        fw_know(draft, area->handle, file);
    uint32_t mapping = row_of(draft, area, draft->images->handles[area->handle].row);

    add(draft, FW_OP_FAULT, 0, mapping, page, 0);
    note(draft, FW_TOUCHED, file, page, page + 1);
    return draft->program->n_operations - 1;
}

void
fw_draft_writes(struct fw_draft *draft, size_t row)
{
    draft->program->operations[row].length = 1;
}

void
fw_draft_advise(struct fw_draft *draft, uint8_t op, uint32_t handle)
{
    add(draft, op, draft->images->handles[handle].row, 0, 0, 0);
}

void
fw_draft_willneed(struct fw_draft *draft, uint32_t handle, uint32_t file, int64_t page,
                  int64_t pages)
{
    int64_t most = least(fw_pages_of(draft, file), page + FW_MOST_PAGES);

    add(draft, FW_OP_WILLNEED, draft->images->handles[handle].row, 0, page, pages);
    note(draft, FW_ADVISED, file, page, least(page + pages, most));
}

void
fw_draft_present(struct fw_draft *draft, uint32_t file, int64_t page)
{
    add(draft, FW_OP_PRESENT, file, 0, page, 1);
    note(draft, FW_TOUCHED, file, page, page + 1);
}

void
fw_draft_single(struct fw_draft *draft, uint32_t file, int64_t page)
{
    add(draft, FW_OP_SINGLE, file, 0, page, 1);
    note(draft, FW_TOUCHED, file, page, page + 1);
}

void
fw_draft_entered(struct fw_draft *draft, uint32_t file, int64_t page, int64_t pages)
{
    note(draft, FW_ENTERED, file, page, page + pages);
}

void
fw_draft_cached(struct fw_draft *draft, const struct fw_piece *piece)
{
    note(draft, FW_RESIDENT, piece->file, (int64_t)piece->first, (int64_t)piece->end);
}

void
fw_draft_mapped(struct fw_draft *draft, uint32_t file, int64_t first, int64_t end)
{
    int64_t pages = fw_pages_of(draft, file);

    if (draft->evidence->flags[file] & FW_CACHED_KNOWN)
        return;
    if (pages > 0)
        end = least(end, pages);
    if (first < end &&
        !fw_pages_any(&draft->pages, FW_ENTERED, file, (uint64_t)first, (uint64_t)end))
        note(draft, FW_NEIGHBOUR, file, first, end);
}

void
fw_draft_hole(struct fw_draft *draft, uint32_t file, int64_t page)
{
    struct fw_program *p = draft->program;

    if (!fw_reserve((void **)&p->holes, &p->room_holes, p->n_holes + 1, sizeof(*p->holes))) {
        fail(draft, FW_NO_MEMORY);
        return;
    }
    p->holes[p->n_holes++] = (struct fw_page){.page = (uint64_t)page, .file = file};
}

void
fw_draft_loose(struct fw_draft *draft, uint32_t file, int64_t page)
{
    size_t n = draft->n_loose;

    if (!fw_reserve((void **)&draft->loose, &draft->room_loose, n + 1, sizeof(*draft->loose))) {
        fail(draft, FW_NO_MEMORY);
        return;
    }
    draft->loose[draft->n_loose++] = (struct fw_loose){.time_ns = draft->now_ns,
                                                       .page = (uint64_t)page,
                                                       .row = draft->program->n_operations,
                                                       .file = file};
}

bool
fw_draft_has(const struct fw_draft *draft, uint32_t file, int64_t page)
{
    return fw_pages_has(&draft->pages, FW_ENTERED, file, (uint64_t)page);
}

int64_t
fw_pages_of(const struct fw_draft *draft, uint32_t file)
{
    int64_t size = draft->evidence->sizes[file], page = draft->evidence->page_size;

    return size / page + (size > 0 && size % page > 0);
}
