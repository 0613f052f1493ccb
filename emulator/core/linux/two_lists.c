/* See two_lists.h. */
#include "two_lists.h"

enum { INACTIVE, ACTIVE };
enum { ROUNDS = 4 };

static void
put(struct lx_memory *memory, uint32_t row, unsigned list)
{
    memory->sizes[list] += lx_pages_of(&memory->held[row]);
    lx_list_add(memory, row, list, false);
}

static void
take(struct lx_memory *memory, uint32_t row)
{
    memory->sizes[memory->held[row].list] -= lx_pages_of(&memory->held[row]);
    lx_list_remove(memory, row);
}

static void
move(struct lx_memory *memory, uint32_t row, bool active)
{
    take(memory, row);
    put(memory, row, active ? ACTIVE : INACTIVE);
}

static void
enter(struct lx_kernel *k, uint32_t row, uint32_t shadow)
{
    struct lx_memory *memory = &k->memory;
    bool active = shadow && (int64_t)(memory->age - (shadow - 1)) <= memory->sizes[ACTIVE];
    if (active) {
        memory->age += (uint32_t)lx_pages_of(&memory->held[row]);
        memory->refaulted = true;
    }
    put(memory, row, active ? ACTIVE : INACTIVE);
}

static void
use(struct lx_kernel *k, uint32_t row)
{
    struct lx_memory *memory = &k->memory;
    struct lx_held *held = &memory->held[row];
    if (!held->referenced) {
        held->referenced = true;
    } else if (held->list == INACTIVE) {
        move(memory, row, true);
        held->referenced = false;
        memory->age += (uint32_t)lx_pages_of(held);
    }
}

/* shrink_folio_list: reclaim a folio, keep it for another round, or make it active. */
static void
look(struct lx_kernel *k, uint32_t row)
{
    struct lx_memory *memory = &k->memory;
    struct lx_held *held = &memory->held[row];
    if (lx_is_locked(k, held)) {
        move(memory, row, false);
        return;
    }
    bool referenced = held->referenced, executes = held->executes;
    unsigned users = held->users;
    held->referenced = lx_is_young(held);
    lx_clear_users(held);
    if (held->referenced) {
        move(memory, row, referenced || users > 1 || executes || held->code);
        return;
    }
    take(memory, row);
    uint32_t age = memory->age;
    memory->age += (uint32_t)lx_pages_of(held);
    lx_forget(k, row, age);
}

/* shrink_active_list: code that was used stays active. */
static int64_t
deactivate(struct lx_memory *memory)
{
    int64_t looked = lx_min(LX_BATCH, memory->folios[ACTIVE]);
    for (int64_t i = 0; i < looked; i++) {
        uint32_t row = memory->held[ACTIVE].next;
        struct lx_held *held = &memory->held[row];
        bool stays = held->code || (held->users && held->executes);
        lx_clear_users(held);
        move(memory, row, stays);
    }
    return looked;
}

static bool
is_inactive_low(const struct lx_memory *memory, int64_t page_size)
{
    int64_t gib = memory->pages * page_size >> 30, ratio = 1;
    while (gib && (ratio + 1) * (ratio + 1) <= 10 * gib)
        ratio++;
    return memory->sizes[INACTIVE] * ratio < memory->sizes[ACTIVE];
}

/* shrink_lruvec. */
static void
reclaim(struct lx_kernel *k, int64_t least)
{
    struct lx_memory *memory = &k->memory;
    int64_t looks = ROUNDS * (memory->folios[INACTIVE] + memory->folios[ACTIVE]) + LX_BATCH;
    while (least > 0 && looks > 0) {
        if (memory->refaulted || is_inactive_low(memory, k->machine->page_size))
            looks -= deactivate(memory);
        int64_t before = memory->pages;
        int64_t looked = lx_min(LX_BATCH, memory->folios[INACTIVE]);
        for (int64_t i = 0; i < looked; i++)
            look(k, memory->held[INACTIVE].next);
        least -= before - memory->pages;
        looks -= lx_max(looked, 1);
    }
    memory->refaulted = false;
}

const struct lx_lists lx_two_lists = {.enter = enter, .read = use, .reclaim = reclaim};
