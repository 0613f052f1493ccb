/* Scans for history and holes as the xarray does them: Cursor of emulator/stepwise/cache.py. */
#include "cursor.h"

/* struct xa_state: where xas_next and xas_prev are. ``offset`` below 0: not in the tree yet. */
struct cursor {
    struct lx_tree *tree;
    int64_t index;
    int64_t node; /* index >> shift >> LX_SLOT_BITS of the node */
    int shift, offset;
};

enum found { NOTHING, FOLIO, NODE };

/* The content of slot ``number`` of the nodes of ``shift``; the order of a folio into ``order``. */
static enum found
slot(struct lx_tree *tree, int shift, int64_t number, unsigned *order)
{
    uint64_t first = (uint64_t)number << shift;
    struct lx_folio folio;
    if (lx_find(tree, first, &folio) && lx_own_shift(folio.order) == shift) {
        *order = folio.order;
        return FOLIO;
    }
    if (shift == 0 || !tree->root || first >> tree->shift >= LX_SLOTS)
        return NOTHING;
    if (shift > tree->shift)
        return NODE; /* my root is the node below */
    const void *at = tree->root;
    for (int s = tree->shift; s >= shift && at; s -= LX_SLOT_BITS)
        at = ((const struct lx_node *)at)->slots[(first >> s) % LX_SLOTS];
    return at ? NODE : NOTHING;
}

static enum found
here(const struct cursor *at, unsigned *order)
{
    return slot(at->tree, at->shift, at->node * LX_SLOTS + at->offset, order);
}

static void
descend(struct cursor *at)
{
    at->shift -= LX_SLOT_BITS;
    at->node = at->node * LX_SLOTS + at->offset;
    at->offset = (int)((uint64_t)at->index >> at->shift) % LX_SLOTS;
}

/* xas_load. */
static bool
load(struct cursor *at)
{
    int root = at->tree->xa_shift;
    unsigned order = 0;
    struct lx_folio folio;
    if (root < 0) {
        at->offset = 0;
        return at->index == 0 && lx_find(at->tree, 0, &folio);
    }
    if (at->index < 0 || at->index >> root >= LX_SLOTS)
        return false;
    at->shift = root;
    at->node = 0;
    at->offset = (int)(at->index >> root);
    /* A sibling slot leads to its folio's head. */
    while (!lx_find(at->tree, (uint64_t)at->index, &folio) ||
           lx_own_shift(folio.order) != at->shift) {
        if (here(at, &order) != NODE)
            return false;
        descend(at);
    }
    at->offset = (int)(folio.index >> at->shift) % LX_SLOTS;
    return true;
}

/* __xas_next, __xas_prev: from one node to another. */
static bool
cross(struct cursor *at, int by)
{
    unsigned order;
    int root = at->tree->xa_shift;
    if (root < 0)
        return false;
    if (at->offset != (int)((uint64_t)at->index >> at->shift) % LX_SLOTS)
        at->offset += by;
    while (at->offset < 0 || at->offset >= LX_SLOTS) {
        if (at->shift == root)
            return false;
        at->shift += LX_SLOT_BITS;
        at->offset = (int)(at->node % LX_SLOTS) + by;
        at->node /= LX_SLOTS;
    }
    while (here(at, &order) == NODE)
        descend(at);
    return here(at, &order) != NOTHING;
}

static bool
step(struct cursor *at, int by)
{
    unsigned order;
    if (at->offset < 0)
        return load(at);
    at->index += by;
    if (at->shift || at->offset + by < 0 || at->offset + by >= LX_SLOTS)
        return cross(at, by);
    at->offset += by;
    return here(at, &order) != NOTHING;
}

int64_t
lx_prev_miss(struct lx_tree *tree, int64_t page, uint64_t limit, bool scans_all)
{
    struct cursor at = {.tree = tree, .index = page, .node = 0, .shift = 0, .offset = -1};
    while (limit--)
        if (!step(&at, -1) || at.index == -1)
            return at.index;
    return at.index - scans_all;
}

/*
 * Pass up to ``limit`` entries after a folio that was found, as steps would, but at once: those of
 * a node of shift 0 are in one leaf. Return how many.
 */
static uint64_t
pass(struct cursor *at, uint64_t limit)
{
    uint64_t next = (uint64_t)(at->node * LX_SLOTS + at->offset + 1);
    if (at->shift || at->offset + 1 == LX_SLOTS)
        return 0;
    uint64_t passed = lx_present(at->tree, next, next + limit);
    at->index += (int64_t)passed;
    at->offset += (int)passed;
    return passed;
}

int64_t
lx_next_miss(struct lx_tree *tree, int64_t page, uint64_t limit)
{
    struct cursor at = {.tree = tree, .index = page, .node = 0, .shift = 0, .offset = -1};
    while (limit--) {
        if (!step(&at, 1))
            return at.index;
        limit -= pass(&at, limit);
    }
    return -1;
}
