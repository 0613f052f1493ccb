/* See memory.h. */
#include "memory.h"

#include "disk.h"
#include "held.h"

#include <stdlib.h>

static struct lx_folio
folio_of(const struct lx_held *held)
{
    return (struct lx_folio){.index = held->index, .order = held->order};
}

static void
set_numbers(struct lx_kernel *k, struct lx_tree *tree, struct lx_folio folio, uint32_t number)
{
    for (uint64_t page = folio.index; page < folio.index + (UINT64_C(1) << folio.order); page++) {
        uint32_t *at = lx_number(&k->arena, tree, page);
        if (at)
            *at = number;
    }
}

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

/* A row for another folio; 0 without memory. */
static uint32_t
new_row(struct lx_kernel *k)
{
    struct lx_memory *memory = &k->memory;
    if (memory->unused) {
        uint32_t row = memory->unused;
        memory->unused = memory->held[row].next;
        return row;
    }
    if (memory->rows + LX_LISTS >= memory->room) {
        size_t room = 2 * memory->room + 1024;
        uint64_t bytes = room * sizeof(*memory->held);
        void *held = bytes <= LX_MOST_BYTES ? realloc(memory->held, bytes) : NULL;
        if (!held) {
            k->arena.failed = true;
            return 0;
        }
        memory->held = held;
        memory->room = room;
    }
    if (!memory->rows)
        for (; memory->rows < LX_LISTS; memory->rows++)
            memory->held[memory->rows] =
                (struct lx_held){.previous = memory->rows, .next = memory->rows};
    return memory->rows++;
}

void
lx_list_add(struct lx_memory *memory, uint32_t row, unsigned list, bool oldest)
{
    struct lx_held *held = &memory->held[row];
    held->list = (uint8_t)list;
    held->previous = oldest ? list : memory->held[list].previous;
    held->next = memory->held[held->previous].next;
    memory->held[held->previous].next = row;
    memory->held[held->next].previous = row;
    memory->pages += lx_pages_of(held);
    memory->folios[list]++;
}

void
lx_list_remove(struct lx_memory *memory, uint32_t row)
{
    struct lx_held *held = &memory->held[row];
    memory->held[held->previous].next = held->next;
    memory->held[held->next].previous = held->previous;
    memory->pages -= lx_pages_of(held);
    memory->folios[held->list]--;
}

bool
lx_is_locked(struct lx_kernel *k, const struct lx_held *held)
{
    if (held->run == k->runs)
        return true;
    return k->disk && lx_disk_is_coming(k, &k->inodes[held->inode], held->index);
}

void
lx_forget(struct lx_kernel *k, uint32_t row, uint32_t shadow)
{
    struct lx_memory *memory = &k->memory;
    struct lx_held *held = &memory->held[row];
    struct lx_inode *inode = &k->inodes[held->inode];
    struct lx_folio folio = folio_of(held);
    held->next = memory->unused;
    memory->unused = row;
    set_numbers(k, &inode->reclaimed, folio, shadow + 1);
    set_numbers(k, &inode->held, (struct lx_folio){.index = folio.index, .order = 0}, 0);
    lx_remove(&inode->tree, folio);
    if (k->disk)
        set_numbers(k, &inode->coming, folio, 0);
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
        memory->full = held > memory->limit ? held + LX_BATCH : 0;
    }
    uint32_t row = new_row(k);
    if (!row)
        return;
    uint32_t shadow = lx_number_at(&inode->reclaimed, folio.index);
    set_numbers(k, &inode->reclaimed, folio, 0);
    memory->held[row] = (struct lx_held){.index = folio.index,
                                         .inode = inode->row,
                                         .run = k->runs,
                                         .mapping = LX_NOBODY,
                                         .order = (uint8_t)folio.order};
    memory->lists->enter(k, row, shadow);
    set_numbers(k, &inode->held, (struct lx_folio){.index = folio.index, .order = 0}, row);
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
    if (row && area->flags & LX_EXEC)
        k->memory.held[row].code = true;
}
