/* The folios that memory holds, on lists: Held and Lists of emulator/stepwise/memory.py. */
#ifndef LX_HELD_H
#define LX_HELD_H

#include "kernel.h"

enum { LX_BATCH = 32 };
static const uint32_t LX_NOBODY = UINT32_MAX; /* no mapping */

/* ``previous`` is older, ``next`` younger. The first LX_LISTS rows are the ends of the lists. */
struct lx_held {
    uint64_t index;
    uint32_t inode, run, previous, next, mapping, generation;
    uint8_t order, users, list, reads;
    bool referenced, executes, code, workingset;
};

/*
 * ``enter`` puts a new folio on a list: ``shadow`` is 1 more than what was left of an earlier one,
 * or 0. ``reclaim``: so many pages, if folios that can be reclaimed suffice.
 */
struct lx_lists {
    void (*enter)(struct lx_kernel *k, uint32_t row, uint32_t shadow);
    void (*read)(struct lx_kernel *k, uint32_t row);
    void (*reclaim)(struct lx_kernel *k, int64_t least);
};

/* The row of a new folio that is on no list; 0 without memory. */
uint32_t lx_hold(struct lx_kernel *k, struct lx_inode *inode, struct lx_folio folio);

/* Return what was left of a folio, and forget that; 0 if nothing was. */
uint32_t lx_take_shadow(struct lx_kernel *k, struct lx_inode *inode, struct lx_folio folio);

/* Put a folio at the young end of a list, or at the old one. */
void lx_list_add(struct lx_memory *memory, uint32_t row, unsigned list, bool oldest);

void lx_list_remove(struct lx_memory *memory, uint32_t row);

/* Take a folio that is on no list out of the page cache. */
void lx_forget(struct lx_kernel *k, uint32_t row, uint32_t shadow);

/* Whether a folio is being read. */
bool lx_is_locked(struct lx_kernel *k, const struct lx_held *held);

static inline int64_t
lx_pages_of(const struct lx_held *held)
{
    return INT64_C(1) << held->order;
}

/* Whether a mapping used a folio since reclaim looked at it. */
static inline bool
lx_is_young(const struct lx_held *held)
{
    return held->users || held->code;
}

/* The entries of all mappings are old now. */
static inline void
lx_clear_users(struct lx_held *held)
{
    held->users = 0;
    held->mapping = LX_NOBODY;
    held->executes = false;
}

#endif
