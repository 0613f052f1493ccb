/* See memory.h. */
#include "memory.h"

#include "generations.h"
#include "held.h"
#include "two_lists.h"

#include <stdlib.h>

enum { RETRIES = 64 };

void
lx_memory_start(struct lx_kernel *k)
{
    struct lx_memory *memory = &k->memory;
    bool generations = k->machine->generations && k->rules->generations;
    *memory = (struct lx_memory){
        .lists = generations ? &lx_generations : &lx_two_lists,
        .held = memory->held,
        .room = memory->room,
        .limit = k->machine->cache_pages,
        .youngest = LX_FIRST_YOUNGEST,
    };
}

void
lx_memory_free(struct lx_memory *memory)
{
    free(memory->held);
}

void
lx_memory_own(struct lx_kernel *k, int64_t pages)
{
    struct lx_memory *memory = &k->memory;
    if (!memory->limit || !pages)
        return;
    memory->limit = lx_max(k->machine->cache_pages - pages, 1);
    int64_t above = memory->pages - memory->limit;
    if (above > 0)
        memory->lists->reclaim(k, lx_max(above, LX_BATCH));
}

void
lx_memory_enter(struct lx_kernel *k, struct lx_inode *inode, struct lx_folio folio)
{
    struct lx_memory *memory = &k->memory;
    int64_t pages = INT64_C(1) << folio.order;
    if (!memory->limit)
        return;
    if (memory->pages + pages > lx_max(memory->limit, memory->full)) {
        memory->lists->reclaim(k, lx_max(pages, LX_BATCH));
        int64_t held = memory->pages + pages;
        memory->full = held > memory->limit ? held + lx_max(LX_BATCH, held / RETRIES) : 0;
    }
    uint32_t row = lx_hold(k, inode, folio);
    if (row)
        memory->lists->enter(k, row, lx_take_shadow(k, inode, folio));
}

static uint32_t
row_of(struct lx_inode *inode, int64_t page)
{
    struct lx_folio folio;
    if (!lx_find(&inode->tree, (uint64_t)page, &folio))
        return 0;
    return lx_number_at(&inode->held, folio.index);
}

void
lx_memory_read(struct lx_kernel *k, struct lx_inode *inode, int64_t page)
{
    struct lx_memory *memory = &k->memory;
    uint32_t row = memory->limit ? row_of(inode, page) : 0;
    if (row)
        memory->lists->read(k, row);
}

void
lx_memory_map(struct lx_kernel *k, const struct lx_area *area, int64_t page)
{
    struct lx_memory *memory = &k->memory;
    uint32_t row = memory->limit ? row_of(area->file->inode, page) : 0;
    if (!row)
        return;
    struct lx_held *held = &memory->held[row];
    uint32_t mapping = (uint32_t)(area - k->areas);
    if (held->mapping != mapping) {
        held->users = held->users < 2 ? held->users + 1 : 2;
        held->mapping = mapping;
    }
    held->executes |= (area->flags & LX_EXEC) != 0;
}

void
lx_memory_touch(struct lx_kernel *k, const struct lx_area *area, int64_t page)
{
    uint32_t row = k->memory.limit ? row_of(area->file->inode, page) : 0;
    lx_memory_map(k, area, page);
    if (row && area->flags & LX_EXEC && k->machine->code_stays)
        k->memory.held[row].code = true;
}
