/* The end of a draft: pages that were there before, and pages that nothing explains. */
#include "finish.h"

#include "rows.h"

#include <stdlib.h>

/* A program that is written anew. */
struct rows {
    struct fw_program to;
    int error;
};

static void
append_pages(struct rows *rows, uint8_t op, uint64_t time_ns, uint32_t file, uint64_t page,
             uint64_t pages)
{
    struct fw_operation of = {.op = op, .handle = file, .at = page, .length = pages};

    if (!rows->error)
        rows->error = fw_append(&rows->to, time_ns, of);
}

static void
append_until(struct rows *rows, const struct fw_program *from, size_t *done, size_t end)
{
    for (; *done < end && !rows->error; (*done)++)
        rows->error = fw_append(&rows->to, from->times[*done], from->operations[*done]);
}

/* The pages cached before the run: recorded as such, or used and never inserted; in runs. */
static void
append_before(struct rows *rows, struct fw_draft *draft)
{
    uint64_t first = 0, end = 0;
    uint32_t file = FW_NONE;
    int64_t neighbours = 0;

    for (size_t i = 0; i < draft->pages.n && !rows->error; i++) {
        const struct fw_word *word = &draft->pages.words[i];
        uint64_t entered = word->bits[FW_ENTERED], touched = word->bits[FW_TOUCHED];
        uint64_t near = word->bits[FW_NEIGHBOUR] & ~entered;
        uint64_t there = (touched | word->bits[FW_RESIDENT]) & ~entered;
        neighbours += __builtin_popcountll(near & ~touched);
        for (uint64_t left = there | near; left; left &= left - 1) {
            uint64_t page = word->number * 64 + (uint64_t)__builtin_ctzll(left);
            if (word->file != file || page != end) {
                if (end > first)
                    append_pages(rows, FW_OP_PRESENT, 0, file, first, end - first);
                file = word->file;
                first = page;
            }
            end = page + 1;
        }
    }
    if (end > first)
        append_pages(rows, FW_OP_PRESENT, 0, file, first, end - first);
    draft->program->assumed[FW_NEIGHBOURS] = neighbours;
}

/* Whether no operation touches a page that was read, and it is the first time of that page. */
static bool
is_alone(struct fw_draft *draft, const struct fw_loose *loose)
{
    for (enum fw_set set = 0; set < FW_N_SETS; set++)
        if ((set == FW_TOUCHED || set == FW_ADVISED || set == FW_ALONE) &&
            fw_pages_has(&draft->pages, set, loose->file, loose->page))
            return false;
    draft->error = fw_pages_add(&draft->pages, FW_ALONE, loose->file, loose->page, loose->page + 1);
    return true;
}

static void
append_all(struct rows *rows, struct fw_draft *draft)
{
    size_t done = 0;

    for (size_t i = 0; i < draft->n_loose && !draft->error; i++) {
        const struct fw_loose *loose = &draft->loose[i];
        if (!is_alone(draft, loose))
            continue;
        append_until(rows, draft->program, &done, loose->row);
        append_pages(rows, FW_OP_SINGLE, loose->time_ns, loose->file, loose->page, 1);
        draft->program->assumed[FW_SINGLY]++;
    }
    append_until(rows, draft->program, &done, draft->program->n_operations);
}

void
fw_draft_finish(struct fw_draft *draft)
{
    struct rows rows = {.error = FW_OK}, before = {.error = FW_OK};
    struct fw_program *p = draft->program;

    append_all(&rows, draft);
    fw_pages_sort(&draft->pages);
    append_before(&before, draft);
    size_t done = 0;

    append_until(&before, &rows.to, &done, rows.to.n_operations);
    free(rows.to.operations);
    free(rows.to.times);
    free(p->operations);
    free(p->times);
    p->operations = before.to.operations;
    p->times = before.to.times;
    p->n_operations = before.to.n_operations;
    p->room_operations = before.to.room_operations;
    if (rows.error || before.error)
        draft->error = FW_NO_MEMORY;
}
