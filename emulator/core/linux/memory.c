/* See memory.h. */
#include "memory.h"

#include "disk.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 32, ROUNDS = 4 };

/* ``previous`` is older, ``next`` younger. The first two rows are the ends of the lists. */
struct lx_held {
    uint64_t index;
    uint32_t inode, run, previous, next, mapping;
    uint8_t order, users;
    bool active, referenced, executes, code;
};

enum { ENDS = 2 };
static const uint32_t NOBODY = UINT32_MAX; /* no mapping */

static struct lx_folio
folio_of(const struct lx_held *held)
{
    return (struct lx_folio){.index = held->index, .order = held->order};
}

static int64_t
pages_of(const struct lx_held *held)
{
    return INT64_C(1) << held->order;
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
lx_memory_start(struct lx_memory *memory, int64_t limit)
{
    *memory = (struct lx_memory){.held = memory->held, .room = memory->room, .limit = limit};
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
    if (memory->rows + ENDS >= memory->room) {
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
        for (; memory->rows < ENDS; memory->rows++)
            memory->held[memory->rows] =
                (struct lx_held){.previous = memory->rows, .next = memory->rows};
    return memory->rows++;
}

/* Put a folio at the young end of its list. */
static void
add(struct lx_memory *memory, uint32_t row)
{
    struct lx_held *held = &memory->held[row], *end = &memory->held[held->active];
    held->next = held->active;
    held->previous = end->previous;
    memory->held[end->previous].next = row;
    end->previous = row;
    memory->pages[held->active] += pages_of(held);
    memory->folios[held->active]++;
}

static void
take_out(struct lx_memory *memory, uint32_t row)
{
    struct lx_held *held = &memory->held[row];
    memory->held[held->previous].next = held->next;
    memory->held[held->next].previous = held->previous;
    memory->pages[held->active] -= pages_of(held);
    memory->folios[held->active]--;
}

static void
move(struct lx_memory *memory, uint32_t row, bool active)
{
    take_out(memory, row);
    memory->held[row].active = active;
    add(memory, row);
}

/* folio_referenced: the entries of all mappings are old now. */
static void
clear(struct lx_held *held)
{
    held->users = 0;
    held->mapping = NOBODY;
    held->executes = false;
}

static bool
is_locked(struct lx_kernel *k, const struct lx_held *held)
{
    if (held->run == k->runs)
        return true;
    return k->disk && lx_disk_is_coming(k, &k->inodes[held->inode], held->index);
}

/* shrink_folio_list: reclaim a folio, keep it for another round, or make it active. */
static void
look(struct lx_kernel *k, uint32_t row)
{
    struct lx_memory *memory = &k->memory;
    struct lx_held *held = &memory->held[row];
    struct lx_inode *inode = &k->inodes[held->inode];
    struct lx_folio folio = folio_of(held);
    if (is_locked(k, held)) {
        move(memory, row, false);
        return;
    }
    bool referenced = held->referenced, executes = held->executes;
    unsigned users = held->users;
    clear(held);
    held->referenced = users || held->code;
    if (users || held->code) {
        move(memory, row, referenced || users > 1 || executes || held->code);
        return;
    }
    take_out(memory, row);
    held->next = memory->unused;
    memory->unused = row;
    set_numbers(k, &inode->reclaimed, folio, memory->age + 1);
    set_numbers(k, &inode->held, (struct lx_folio){.index = folio.index, .order = 0}, 0);
    memory->age += (uint32_t)pages_of(held);
    lx_remove(&inode->tree, folio);
    if (k->disk)
        set_numbers(k, &inode->coming, folio, 0);
}

/* shrink_active_list: code that was used stays active. */
static int64_t
deactivate(struct lx_memory *memory)
{
    int64_t looked = lx_min(BATCH, memory->folios[true]);
    for (int64_t i = 0; i < looked; i++) {
        uint32_t row = memory->held[true].next;
        struct lx_held *held = &memory->held[row];
        bool stays = held->code || (held->users && held->executes);
        clear(held);
        move(memory, row, stays);
    }
    return looked;
}

static bool
is_inactive_low(const struct lx_memory *memory, int64_t page_size)
{
    int64_t inactive = memory->pages[false], active = memory->pages[true];
    int64_t gib = (inactive + active) * page_size >> 30, ratio = 1;
    while (gib && (ratio + 1) * (ratio + 1) <= 10 * gib)
        ratio++;
    return inactive * ratio < active;
}

/* shrink_lruvec: reclaim so many pages, if folios that can be reclaimed suffice. */
static void
reclaim(struct lx_kernel *k, int64_t least)
{
    struct lx_memory *memory = &k->memory;
    int64_t looks = ROUNDS * (memory->folios[false] + memory->folios[true]) + BATCH;
    while (least > 0 && looks > 0) {
        if (memory->refaulted || is_inactive_low(memory, k->machine->page_size))
            looks -= deactivate(memory);
        int64_t before = memory->pages[false] + memory->pages[true];
        int64_t looked = lx_min(BATCH, memory->folios[false]);
        for (int64_t i = 0; i < looked; i++)
            look(k, memory->held[false].next);
        least -= before - memory->pages[false] - memory->pages[true];
        looks -= lx_max(looked, 1);
    }
    memory->refaulted = false;
}

void
lx_memory_own(struct lx_kernel *k, int64_t pages)
{
    struct lx_memory *memory = &k->memory;
    if (!memory->limit || !pages)
        return;
    memory->limit = lx_max(k->machine->cache_pages - pages, 1);
    int64_t above = memory->pages[false] + memory->pages[true] - memory->limit;
    if (above > 0)
        reclaim(k, lx_max(above, BATCH));
}

void
lx_memory_enter(struct lx_kernel *k, struct lx_inode *inode, struct lx_folio folio)
{
    struct lx_memory *memory = &k->memory;
    int64_t pages = INT64_C(1) << folio.order;
    if (!memory->limit)
        return;
    if (memory->pages[false] + memory->pages[true] + pages > lx_max(memory->limit, memory->full)) {
        reclaim(k, lx_max(pages, BATCH));
        int64_t held = memory->pages[false] + memory->pages[true] + pages;
        memory->full = held > memory->limit ? held + BATCH : 0;
    }
    uint32_t row = new_row(k);
    if (!row)
        return;
    uint32_t age = lx_number_at(&inode->reclaimed, folio.index);
    set_numbers(k, &inode->reclaimed, folio, 0);
    bool active = age && (int64_t)(memory->age - (age - 1)) <= memory->pages[true];
    memory->held[row] = (struct lx_held){.index = folio.index,
                                         .inode = inode->row,
                                         .run = k->runs,
                                         .mapping = NOBODY,
                                         .order = (uint8_t)folio.order,
                                         .active = active};
    if (active) {
        memory->age += (uint32_t)pages;
        memory->refaulted = true;
    }
    add(memory, row);
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
    if (!row)
        return;
    struct lx_held *held = &memory->held[row];
    if (!held->referenced) {
        held->referenced = true;
    } else if (!held->active) {
        move(memory, row, true);
        held->referenced = false;
        memory->age += (uint32_t)pages_of(held);
    }
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
