/* See generations.h. */
#include "generations.h"

enum { LEAST = 2, MOST = LX_LISTS };
enum { BATCH = 64, MOST_LOOKS = 64 * 64 };
enum { MOST_READS = 3 };
enum { PRIORITY = 12 };

static bool
is_reworked(const struct lx_kernel *k)
{
    return k->rules->generations >= LX_GENERATIONS_REWORKED;
}

static bool
has_old_faults(const struct lx_kernel *k)
{
    return k->rules->generations >= LX_GENERATIONS_OLD_FAULTS;
}

/* order_base_2. */
static unsigned
log_up(unsigned number)
{
    return number > 1 ? 32 - (unsigned)__builtin_clz(number - 1) : 0;
}

static struct lx_history *
history_of(struct lx_memory *memory, uint32_t generation)
{
    return &memory->history[generation % MOST];
}

/* ---- which generation a folio belongs to ---- */

static void
use(struct lx_kernel *k, uint32_t row)
{
    struct lx_held *held = &k->memory.held[row];
    if (!held->referenced) {
        held->referenced = true;
        if (is_reworked(k))
            held->reads = 0;
    } else if (!is_reworked(k) && !held->workingset) {
        held->workingset = true;
    } else if (held->reads < MOST_READS) {
        held->reads++;
    } else if (is_reworked(k)) {
        held->workingset = true;
    }
}

/* lru_gen_refault. */
static void
refault(struct lx_kernel *k, struct lx_held *held, uint32_t shadow)
{
    struct lx_memory *memory = &k->memory;
    uint32_t oldest = shadow >> 3;
    bool workingset = shadow >> 2 & 1;
    uint8_t reads = shadow & 3;
    int64_t *refaulted = history_of(memory, memory->oldest)->refaulted;
    if (is_reworked(k)) {
        if (memory->youngest - oldest >= MOST)
            return;
        refaulted[workingset ? LX_TIERS - 1 : log_up(reads + 1U)] += lx_pages_of(held);
        held->workingset = workingset;
        held->reads = workingset ? 0 : reads;
        return;
    }
    if (oldest != memory->oldest)
        return;
    unsigned uses = reads + workingset;
    refaulted[log_up(uses + 1)] += lx_pages_of(held);
    if (k->faulting || uses >= MOST_READS) {
        held->workingset = true;
        held->reads = MOST_READS;
    }
}

static uint32_t
generation_of(const struct lx_kernel *k, const struct lx_held *held, bool active)
{
    const struct lx_memory *memory = &k->memory;
    if (!is_reworked(k)) {
        if (active)
            return memory->youngest;
        return memory->oldest + (memory->oldest + LEAST < memory->youngest);
    }
    uint32_t distance;
    if (active)
        distance = LEAST - held->workingset;
    else
        distance = MOST - (held->workingset || (has_old_faults(k) && held->referenced));
    return (uint32_t)lx_max((int64_t)memory->youngest - distance + 1, memory->oldest);
}

/* lru_gen_add_folio. */
static void
put(struct lx_kernel *k, uint32_t row, bool active)
{
    struct lx_memory *memory = &k->memory;
    struct lx_held *held = &memory->held[row];
    held->generation = generation_of(k, held, active);
    memory->sizes[held->generation % MOST] += lx_pages_of(held);
    lx_list_add(memory, row, held->generation % MOST, false);
}

static void
take(struct lx_memory *memory, uint32_t row)
{
    struct lx_held *held = &memory->held[row];
    memory->sizes[held->generation % MOST] -= lx_pages_of(held);
    lx_list_remove(memory, row);
}

/* folio_add_lru. */
static void
enter(struct lx_kernel *k, uint32_t row, uint32_t shadow)
{
    struct lx_held *held = &k->memory.held[row];
    if (shadow)
        refault(k, held, shadow - 1);
    bool active = k->faulting;
    if (active && has_old_faults(k)) {
        active = held->workingset;
        if (!active)
            use(k, row);
    }
    put(k, row, active);
}

/* Let a folio belong to a generation; it stays on its list. */
static void
change(struct lx_memory *memory, struct lx_held *held, uint32_t generation)
{
    memory->sizes[held->generation % MOST] -= lx_pages_of(held);
    memory->sizes[generation % MOST] += lx_pages_of(held);
    held->generation = generation;
}

/* Put a folio on the list of its generation. */
static void
sort(struct lx_memory *memory, uint32_t row, bool oldest)
{
    lx_list_remove(memory, row);
    lx_list_add(memory, row, memory->held[row].generation % MOST, oldest);
}

/* ---- aging ---- */

/* folio_update_gen. */
static void
make_younger(struct lx_kernel *k, struct lx_held *held)
{
    held->reads = 0;
    if (is_reworked(k) && !held->referenced && !held->workingset) {
        held->referenced = true;
        return;
    }
    change(&k->memory, held, k->memory.youngest);
    held->referenced = false;
    held->workingset = is_reworked(k);
}

/* try_to_inc_max_seq: walk the page tables, and begin a generation. */
static void
age(struct lx_kernel *k)
{
    struct lx_memory *memory = &k->memory;
    for (uint32_t list = 0; memory->rows && list < MOST; list++)
        for (uint32_t row = memory->held[list].next; row != list; row = memory->held[row].next) {
            struct lx_held *held = &memory->held[row];
            if (lx_is_young(held)) {
                lx_clear_users(held);
                make_younger(k, held);
            }
        }
    memory->youngest++;
    *history_of(memory, memory->youngest) = (struct lx_history){{0}, {0}, {0}};
}

static int64_t
protected_of(const struct lx_kernel *k, const struct lx_history *history, unsigned tier)
{
    return is_reworked(k) || tier ? history->protected[tier] : 0;
}

/* Pages of a tier that were missed again, and all that were looked at. */
struct position {
    int64_t missed, total;
};

/* read_ctrl_pos. */
static struct position
position_of(struct lx_kernel *k, uint32_t generation, unsigned tier)
{
    struct lx_memory *memory = &k->memory;
    const struct lx_history *history = history_of(memory, generation);
    int64_t all = history->evicted[tier] + protected_of(k, history, tier);
    return (struct position){.missed = memory->missed[tier] + history->refaulted[tier],
                             .total = memory->total[tier] + all};
}

/* try_to_inc_min_seq: the oldest generation is one that has folios on its list. */
static bool
pass_empty(struct lx_kernel *k)
{
    struct lx_memory *memory = &k->memory;
    uint32_t before = memory->oldest;
    while (memory->oldest + LEAST <= memory->youngest && !memory->folios[memory->oldest % MOST])
        memory->oldest++;
    if (memory->oldest == before)
        return false;
    for (unsigned tier = 0; tier < LX_TIERS; tier++) {
        struct position now = position_of(k, before, tier);
        memory->missed[tier] = now.missed / 2;
        memory->total[tier] = now.total / 2;
    }
    return true;
}

/* ---- eviction ---- */

/* lru_tier_from_refs: by reads, after the first. */
static unsigned
tier_of(const struct lx_kernel *k, const struct lx_held *held)
{
    if (!is_reworked(k))
        return log_up(held->reads + held->workingset + 1U);
    if (held->workingset)
        return LX_TIERS - 1;
    return log_up(held->referenced ? held->reads + 1U : 0);
}

/* get_tier_idx: the last tier that is reclaimed, since its pages are missed no more often. */
static unsigned
last_tier(struct lx_kernel *k)
{
    int64_t own = is_reworked(k) ? 2 : 1, other = is_reworked(k) ? 3 : 2;
    struct position first = position_of(k, k->memory.oldest, 0);
    for (unsigned tier = 1; tier < LX_TIERS; tier++) {
        struct position now = position_of(k, k->memory.oldest, tier);
        if (now.missed >= BATCH &&
            now.missed * (first.total + BATCH) * own > (first.missed + 1) * now.total * other)
            return tier - 1;
    }
    return LX_TIERS - 1;
}

/* sort_folio: a folio that was made younger, is protected, or is being read. */
static bool
stays(struct lx_kernel *k, uint32_t row, unsigned last)
{
    struct lx_memory *memory = &k->memory;
    struct lx_held *held = &memory->held[row];
    bool reworked = is_reworked(k);
    if (held->generation != memory->oldest) {
        sort(memory, row, false);
        return true;
    }
    bool used_most =
        held->workingset && held->reads == MOST_READS && (held->referenced || !reworked);
    bool is_protected = tier_of(k, held) > last || used_most;
    if (!is_protected && (reworked || !lx_is_locked(k, held)))
        return false;
    if (is_protected && !(reworked && used_most))
        history_of(memory, memory->oldest)->protected[tier_of(k, held)] += lx_pages_of(held);
    change(memory, held, memory->oldest + 1);
    held->referenced = false;
    held->reads = 0;
    held->workingset &= reworked;
    sort(memory, row, is_protected && !reworked);
    return true;
}

struct isolated {
    uint32_t rows[BATCH];
    unsigned folios;
};

/* scan_folios, isolate_folio: take folios of the oldest generation; return the pages looked at. */
static int64_t
isolate(struct lx_kernel *k, int64_t most, struct isolated *isolated)
{
    struct lx_memory *memory = &k->memory;
    int64_t looked = 0, pages = 0;
    uint32_t list = memory->oldest % MOST;
    if (memory->youngest - memory->oldest + 1 == LEAST)
        return 0;
    for (unsigned last = last_tier(k); memory->folios[list] && most > 0 && pages < BATCH; most--) {
        uint32_t row = memory->held[list].next;
        struct lx_held *held = &memory->held[row];
        looked += lx_pages_of(held);
        if (stays(k, row, last))
            continue;
        take(memory, row);
        if (!held->referenced) {
            held->reads = 0;
            held->workingset &= is_reworked(k);
        }
        held->referenced &= is_reworked(k);
        isolated->rows[isolated->folios++] = row;
        pages += lx_pages_of(held);
    }
    return isolated->folios || most == 0 || is_reworked(k) ? looked : 0;
}

/* lru_gen_set_refs. */
static bool
is_used_again(struct lx_kernel *k, uint32_t row)
{
    struct lx_held *held = &k->memory.held[row];
    if (!held->referenced && !held->workingset) {
        held->referenced = true;
        held->reads = 0;
        return false;
    }
    if (!has_old_faults(k) || (held->referenced && held->reads)) {
        held->referenced = false;
        held->reads = 0;
        held->workingset = true;
    } else {
        use(k, row);
    }
    return true;
}

/* Put a folio back, not into the oldest generation. */
static void
keep(struct lx_kernel *k, uint32_t row)
{
    struct lx_memory *memory = &k->memory;
    struct lx_held *held = &memory->held[row];
    bool active = true;
    if (!is_reworked(k)) {
        lx_clear_users(held);
        held->referenced = held->workingset = false;
        held->reads = 0;
    } else {
        active = !lx_is_locked(k, held) && is_used_again(k, row);
        if (!lx_is_locked(k, held))
            lx_clear_users(held);
        if (!active && generation_of(k, held, false) == memory->oldest) {
            held->referenced = false;
            held->reads = 0;
            active = true;
        }
    }
    put(k, row, active);
}

/* shrink_folio_list: reclaim a folio, unless it is young or being read. */
static void
look(struct lx_kernel *k, uint32_t row)
{
    struct lx_memory *memory = &k->memory;
    struct lx_held *held = &memory->held[row];
    if (lx_is_locked(k, held) || lx_is_young(held)) {
        keep(k, row);
        return;
    }
    history_of(memory, memory->oldest)->evicted[tier_of(k, held)] += lx_pages_of(held);
    lx_forget(k, row, memory->oldest << 3 | (uint32_t)held->workingset << 2 | held->reads);
}

/* evict_folios: return how many pages were looked at; 0 ends this round. */
static int64_t
evict(struct lx_kernel *k, int64_t most)
{
    struct lx_memory *memory = &k->memory;
    struct isolated isolated = {.folios = 0};
    if (is_reworked(k))
        pass_empty(k);
    int64_t looked = isolate(k, most, &isolated);
    if (is_reworked(k)) {
        if (looked)
            pass_empty(k);
    } else {
        looked += pass_empty(k);
        if (memory->youngest - memory->oldest + 1 == LEAST)
            looked = 0;
    }
    for (unsigned i = 0; i < isolated.folios; i++)
        look(k, isolated.rows[i]);
    return looked;
}

/* ---- how much is looked at ---- */

/* should_run_aging: with three generations, the youngest is large or the oldest small. */
static bool
is_uneven(const struct lx_memory *memory)
{
    if (memory->oldest + LEAST != memory->youngest)
        return false;
    int64_t young = memory->sizes[memory->youngest % MOST];
    int64_t old = memory->sizes[memory->oldest % MOST];
    return young * LEAST > memory->pages || old * (LEAST + 2) < memory->pages;
}

/* try_to_shrink_lruvec, to 6.13. */
static void
shrink_early(struct lx_kernel *k, int priority, int64_t goal)
{
    struct lx_memory *memory = &k->memory;
    int64_t looked = 0;
    while (memory->pages > goal) {
        bool few = memory->oldest + LEAST > memory->youngest;
        if ((few || is_uneven(memory)) && priority < PRIORITY) {
            age(k);
            return;
        }
        int64_t most = few ? 0 : memory->pages >> priority;
        int64_t now = most ? evict(k, MOST_LOOKS) : 0;
        looked += now;
        if (!now || looked >= most)
            return;
    }
}

/* try_to_shrink_lruvec, as of 7.2. */
static void
shrink(struct lx_kernel *k, int priority, int64_t goal)
{
    struct lx_memory *memory = &k->memory;
    int64_t most = memory->pages >> priority, looked;
    for (; most > 0 && memory->pages > goal; most -= looked) {
        int64_t spare = (int64_t)memory->youngest - memory->oldest - LEAST;
        if (spare < 0 || (spare == 0 && priority < PRIORITY))
            age(k);
        looked = evict(k, lx_min(most, BATCH));
        if (!looked)
            return;
    }
}

static void
reclaim(struct lx_kernel *k, int64_t least)
{
    int64_t goal = k->memory.pages - least;
    for (int priority = PRIORITY; priority >= 0 && k->memory.pages > goal; priority--)
        if (is_reworked(k))
            shrink(k, priority, goal);
        else
            shrink_early(k, priority, goal);
}

const struct lx_lists lx_generations = {.enter = enter, .read = use, .reclaim = reclaim};
