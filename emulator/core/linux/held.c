/* See held.h. */
#include "held.h"

#include "disk.h"

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

uint32_t
lx_hold(struct lx_kernel *k, struct lx_inode *inode, struct lx_folio folio)
{
    uint32_t row = new_row(k);
    if (!row)
        return 0;
    k->memory.held[row] = (struct lx_held){.index = folio.index,
                                           .inode = inode->row,
                                           .run = k->runs,
                                           .mapping = LX_NOBODY,
                                           .order = (uint8_t)folio.order};
    set_numbers(k, &inode->held, (struct lx_folio){.index = folio.index, .order = 0}, row);
    return row;
}

uint32_t
lx_take_shadow(struct lx_kernel *k, struct lx_inode *inode, struct lx_folio folio)
{
    uint32_t shadow = lx_number_at(&inode->reclaimed, folio.index);
    set_numbers(k, &inode->reclaimed, folio, 0);
    return shadow;
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
