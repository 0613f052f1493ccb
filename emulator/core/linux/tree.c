/* See tree.h. */
#include "tree.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 1 << 20 };

struct lx_block {
    struct lx_block *next;
    size_t size;
    char bytes[];
};

void *
lx_alloc(struct lx_arena *arena, size_t size)
{
    size = (size + 7) & ~(size_t)7;
    size_t whole = size > BLOCK_BYTES ? size : BLOCK_BYTES;
    if (!arena->blocks || arena->used + size > BLOCK_BYTES) {
        arena->bytes += whole;
        struct lx_block *block =
            arena->bytes <= LX_MOST_BYTES ? calloc(1, sizeof(*block) + whole) : NULL;
        if (!block) {
            arena->failed = true;
            return NULL;
        }
        block->next = arena->blocks;
        block->size = whole;
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
    arena->bytes = 0;
}

void
lx_reset(struct lx_arena *arena)
{
    struct lx_block *kept = arena->blocks;
    if (!kept)
        return;
    if (kept->next || kept->size > BLOCK_BYTES) {
        lx_free(arena);
        return;
    }
    memset(kept->bytes, 0, arena->used);
    arena->used = 0;
}

struct lx_leaf *
lx_descend(struct lx_tree *tree, uint64_t page)
{
    void *at = tree->root;
    if (!at || page >> tree->shift >= LX_SLOTS)
        return NULL;
    for (int shift = tree->shift; shift > 0 && at; shift -= LX_SLOT_BITS)
        at = ((struct lx_node *)at)->slots[(page >> shift) % LX_SLOTS];
    if (at) {
        tree->near = at;
        tree->near_number = page / LX_SLOTS;
    }
    return at;
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

static const size_t LEAF_SIZES[] = {
    [LX_FOLIOS] = sizeof(struct lx_leaf),
    [LX_BITS] = sizeof(uint64_t),
    [LX_NUMBERS] = LX_SLOTS * sizeof(uint32_t),
};

/* The leaf of a page, made if it is not there; NULL without memory. */
static struct lx_leaf *
make_leaf(struct lx_arena *arena, struct lx_tree *tree, uint64_t page)
{
    struct lx_leaf *found = lx_leaf_of(tree, page);
    if (found)
        return found;
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
        size_t size = shift ? sizeof(struct lx_node) : LEAF_SIZES[tree->leaves];
        if (!*at && !(*at = lx_alloc(arena, size)))
            return NULL;
        if (shift)
            at = &((struct lx_node *)*at)->slots[(page >> shift) % LX_SLOTS];
    }
    tree->near = *at;
    tree->near_number = page / LX_SLOTS;
    return *at;
}

/* Let the xarray have the nodes that an entry of ``own`` shift for a page needs. */
static void
grow(struct lx_tree *tree, uint64_t last, int own)
{
    if (!last)
        return;
    if (tree->xa_shift < own)
        tree->xa_shift = own;
    while (last >> tree->xa_shift >= LX_SLOTS)
        tree->xa_shift += LX_SLOT_BITS;
}

static bool
is_free(struct lx_tree *tree, struct lx_folio folio)
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
    /* The one leaf of a smaller folio is looked up once, below. */
    if (folio.order > LX_SLOT_BITS && !is_free(tree, folio))
        return false;
    uint64_t bits = bits_of(folio), pages = UINT64_C(1) << folio.order;
    uint64_t last = folio.index + pages - 1;
    for (uint64_t page = folio.index; page <= last; page += LX_SLOTS) {
        struct lx_leaf *leaf = make_leaf(arena, tree, page);
        if (!leaf || leaf->present & bits)
            return false;
        leaf->present |= bits;
        if (marked)
            leaf->marked |= bits;
        if (!folio.order)
            continue;
        leaf->large |= bits;
        memset(leaf->order + page % LX_SLOTS, (int)folio.order,
               pages < LX_SLOTS ? pages : LX_SLOTS);
    }
    grow(tree, last, lx_own_shift(folio.order));
    return true;
}

void
lx_remove(struct lx_tree *tree, struct lx_folio folio)
{
    uint64_t bits = bits_of(folio), pages = UINT64_C(1) << folio.order;
    for (uint64_t page = folio.index; page < folio.index + pages; page += LX_SLOTS) {
        struct lx_leaf *leaf = lx_leaf_of(tree, page);
        leaf->present &= ~bits;
        leaf->marked &= ~bits;
        leaf->large &= ~bits;
        memset(leaf->order + page % LX_SLOTS, 0, pages < LX_SLOTS ? pages : LX_SLOTS);
    }
}

uint64_t
lx_insert_pages(struct lx_arena *arena, struct lx_tree *tree, uint64_t page, uint64_t end)
{
    struct lx_leaf *leaf = make_leaf(arena, tree, page);
    if (!leaf)
        return 0;
    uint64_t pages = lx_run(~leaf->present, page, end);
    if (pages) {
        leaf->present |= lx_bits(page, page + pages);
        grow(tree, page + pages - 1, 0);
    }
    return pages;
}

uint64_t
lx_insert_bits(struct lx_arena *arena, struct lx_tree *tree, uint64_t page, uint64_t bits)
{
    struct lx_leaf *leaf = make_leaf(arena, tree, page);
    if (!leaf)
        return 0;
    bits &= ~leaf->present;
    leaf->present |= bits;
    return bits;
}

void
lx_insert_all(struct lx_arena *arena, struct lx_tree *tree, uint64_t page, uint64_t end)
{
    for (; page < end; page += lx_run(UINT64_MAX, page, end))
        lx_insert_bits(arena, tree, page, lx_bits(page, end));
}

uint32_t *
lx_number(struct lx_arena *arena, struct lx_tree *tree, uint64_t page)
{
    void *leaf = make_leaf(arena, tree, page);
    return leaf ? (uint32_t *)leaf + page % LX_SLOTS : NULL;
}

uint64_t
lx_history(struct lx_tree *tree, uint64_t page, uint64_t limit)
{
    uint64_t count = 0;
    while (count < limit && count < page && lx_has(tree, page - 1 - count))
        count++;
    return count;
}

uint64_t
lx_next_hole(struct lx_tree *tree, uint64_t page, uint64_t limit)
{
    for (uint64_t end = page + limit; page < end && lx_has(tree, page); page++)
        ;
    return page;
}
