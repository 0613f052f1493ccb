/* See linux_tree.h. The cursor is emulator/linux/cache.py's. */
#include "linux_tree.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 1 << 20 };

struct lx_block {
    struct lx_block *next;
    char bytes[];
};

void *
lx_alloc(struct lx_arena *arena, size_t size)
{
    size = (size + 15) & ~(size_t)15;
    size_t whole = size > BLOCK_BYTES ? size : BLOCK_BYTES;
    if (!arena->blocks || arena->used + size > BLOCK_BYTES) {
        struct lx_block *block = calloc(1, sizeof(*block) + whole);
        if (!block) {
            arena->failed = true;
            return NULL;
        }
        block->next = arena->blocks;
        arena->blocks = block;
        arena->used = 0;
    }
    void *found = arena->blocks->bytes + arena->used;
    arena->used += size;
    return found;
}

void
lx_free(struct lx_arena *arena)
{
    for (struct lx_block *next, *block = arena->blocks; block; block = next) {
        next = block->next;
        free(block);
    }
    arena->blocks = NULL;
}

struct lx_leaf *
lx_leaf_of(const struct lx_tree *tree, uint64_t page)
{
    void *at = tree->root;
    if (!at || page >> tree->shift >= LX_SLOTS)
        return NULL;
    for (int shift = tree->shift; shift > 0 && at; shift -= LX_SLOT_BITS)
        at = ((struct lx_node *)at)->slots[(page >> shift) % LX_SLOTS];
    return at;
}

bool
lx_find(const struct lx_tree *tree, uint64_t page, struct lx_folio *folio)
{
    const struct lx_leaf *leaf = lx_leaf_of(tree, page);
    if (!leaf || !(leaf->present >> page % LX_SLOTS & 1))
        return false;
    folio->order = leaf->order[page % LX_SLOTS];
    folio->index = page >> folio->order << folio->order;
    return true;
}

bool
lx_is_marked(const struct lx_tree *tree, uint64_t page)
{
    const struct lx_leaf *leaf = lx_leaf_of(tree, page);
    return leaf && leaf->marked >> page % LX_SLOTS & 1;
}

/* The bits of a leaf that a folio has in it. */
static uint64_t
bits_of(struct lx_folio folio)
{
    if (folio.order >= LX_SLOT_BITS)
        return UINT64_MAX;
    return ((UINT64_C(1) << (1u << folio.order)) - 1) << folio.index % LX_SLOTS;
}

void
lx_unmark(struct lx_tree *tree, struct lx_folio folio)
{
    uint64_t end = folio.index + (UINT64_C(1) << folio.order);
    for (uint64_t page = folio.index; page < end; page += LX_SLOTS)
        lx_leaf_of(tree, page)->marked &= ~bits_of(folio);
}

/* The leaf of a page, made if it is not there; NULL without memory. */
static struct lx_leaf *
make_leaf(struct lx_arena *arena, struct lx_tree *tree, uint64_t page)
{
    while (page >> tree->shift >= LX_SLOTS) {
        if (tree->root) {
            struct lx_node *above = lx_alloc(arena, sizeof(*above));
            if (!above)
                return NULL;
            above->slots[0] = tree->root;
            tree->root = above;
        }
        tree->shift += LX_SLOT_BITS;
    }
    void **at = &tree->root;
    for (int shift = tree->shift; shift >= 0; shift -= LX_SLOT_BITS) {
        size_t size = shift ? sizeof(struct lx_node) : sizeof(struct lx_leaf);
        if (!*at && !(*at = lx_alloc(arena, size)))
            return NULL;
        if (shift)
            at = &((struct lx_node *)*at)->slots[(page >> shift) % LX_SLOTS];
    }
    return *at;
}

static int
own_shift(unsigned order)
{
    return (int)(order / LX_SLOT_BITS) * LX_SLOT_BITS;
}

static bool
is_free(const struct lx_tree *tree, struct lx_folio folio)
{
    uint64_t end = folio.index + (UINT64_C(1) << folio.order);
    for (uint64_t page = folio.index; page < end; page += LX_SLOTS) {
        const struct lx_leaf *leaf = lx_leaf_of(tree, page);
        if (leaf && leaf->present & bits_of(folio))
            return false;
    }
    return true;
}

bool
lx_insert(struct lx_arena *arena, struct lx_tree *tree, struct lx_folio folio, bool marked)
{
    if (!is_free(tree, folio))
        return false;
    uint64_t bits = bits_of(folio), pages = UINT64_C(1) << folio.order;
    uint64_t last = folio.index + pages - 1;
    for (uint64_t page = folio.index; page <= last; page += LX_SLOTS) {
        struct lx_leaf *leaf = make_leaf(arena, tree, page);
        if (!leaf)
            return false;
        leaf->present |= bits;
        if (marked)
            leaf->marked |= bits;
        memset(leaf->order + page % LX_SLOTS, (int)folio.order,
               pages < LX_SLOTS ? pages : LX_SLOTS);
    }
    if (last) {
        int own = own_shift(folio.order);
        if (tree->xa_shift < own)
            tree->xa_shift = own;
        while (last >> tree->xa_shift >= LX_SLOTS)
            tree->xa_shift += LX_SLOT_BITS;
    }
    return true;
}

uint64_t
lx_history(const struct lx_tree *tree, uint64_t page, uint64_t limit)
{
    struct lx_folio folio;
    uint64_t count = 0;
    while (count < limit && count < page && lx_find(tree, page - 1 - count, &folio))
        count++;
    return count;
}

uint64_t
lx_next_hole(const struct lx_tree *tree, uint64_t page, uint64_t limit)
{
    struct lx_folio folio;
    for (uint64_t end = page + limit; page < end && lx_find(tree, page, &folio); page++)
        ;
    return page;
}

/* struct xa_state: where xas_next and xas_prev are. ``offset`` below 0: not in the tree yet. */
struct cursor {
    const struct lx_tree *tree;
    int64_t index;
    int64_t node; /* index >> shift >> LX_SLOT_BITS of the node */
    int shift, offset;
};

enum found { NOTHING, FOLIO, NODE };

/* What slot ``number`` of the nodes of ``shift`` has; the order of a folio into ``order``. */
static enum found
slot(const struct lx_tree *tree, int shift, int64_t number, unsigned *order)
{
    uint64_t first = (uint64_t)number << shift;
    struct lx_folio folio;
    if (lx_find(tree, first, &folio) && own_shift(folio.order) == shift) {
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
           own_shift(folio.order) != at->shift) {
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
lx_prev_miss(const struct lx_tree *tree, int64_t page, uint64_t limit)
{
    struct cursor at = {tree, page, 0, 0, -1};
    while (limit--)
        if (!step(&at, -1) || at.index == -1)
            break;
    return at.index;
}

int64_t
lx_next_miss(const struct lx_tree *tree, int64_t page, uint64_t limit)
{
    struct cursor at = {tree, page, 0, 0, -1};
    while (limit--)
        if (!step(&at, 1))
            return at.index;
    return -1;
}
