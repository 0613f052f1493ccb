/* The page cache of one file: folios by page index, in a tree like the kernel's xarray. */
#ifndef LX_TREE_H
#define LX_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most bytes of each of the three that grow with hostile captures: the page cache, the log of
 * inserts, and the requests of a replay; together less than 512 MB. Far above the needs of
 * start-ups. */
#ifndef LX_MOST_BYTES
#define LX_MOST_BYTES (UINT64_C(160) << 20)
#endif
#define LX_SLOTS 64
#define LX_SLOT_BITS 6

/* 64 pages. ``marked`` is PG_readahead, ``large`` an order above 0, for all pages of a folio. */
struct lx_leaf {
    uint64_t present, marked, large;
    uint8_t order[LX_SLOTS];
};

struct lx_node {
    void *slots[LX_SLOTS]; /* nodes, or leaves below a node of shift LX_SLOT_BITS */
};

/* All memory of one emulation, zeroed, freed at once. ``failed`` once there was too little. */
struct lx_arena {
    struct lx_block *blocks;
    size_t used;    /* of the first block */
    uint64_t bytes; /* of all blocks */
    bool failed;
};

/* Kinds of leaves: struct lx_leaf, only its ``present`` (no folios, no marks), or a uint32_t *
 * each. */
enum lx_leaves { LX_FOLIOS, LX_BITS, LX_NUMBERS };

/*
 * ``shift`` is that of the root; ``xa_shift`` the xarray's, negative where it has no node.
 * ``near`` is the leaf used last, of the pages from ``near_number`` * 64 on.
 */
struct lx_tree {
    void *root;
    int shift, xa_shift;
    enum lx_leaves leaves;
    struct lx_leaf *near;
    uint64_t near_number;
};

struct lx_folio {
    uint64_t index;
    unsigned order;
};

/* The shift of the xarray node that holds a folio. */
static inline int
lx_own_shift(unsigned order)
{
    return (int)(order / LX_SLOT_BITS) * LX_SLOT_BITS;
}

void *lx_alloc(struct lx_arena *arena, size_t size);
void lx_free(struct lx_arena *arena);

/* Forget all allocations, but keep the memory for later ones. */
void lx_reset(struct lx_arena *arena);

/* lx_leaf_of for a leaf that was not used last. */
struct lx_leaf *lx_descend(struct lx_tree *tree, uint64_t page);

/* The leaf of a page, or NULL if none of its 64 pages was ever there. */
static inline struct lx_leaf *
lx_leaf_of(struct lx_tree *tree, uint64_t page)
{
    if (tree->near && page / LX_SLOTS == tree->near_number)
        return tree->near;
    return lx_descend(tree, page);
}

/* Whether a page is there, and the folio that holds it. */
static inline bool
lx_find(struct lx_tree *tree, uint64_t page, struct lx_folio *folio)
{
    const struct lx_leaf *leaf = lx_leaf_of(tree, page);
    if (!leaf || !(leaf->present >> page % LX_SLOTS & 1))
        return false;
    folio->order = leaf->order[page % LX_SLOTS];
    folio->index = page >> folio->order << folio->order;
    return true;
}

static inline bool
lx_is_marked(struct lx_tree *tree, uint64_t page)
{
    const struct lx_leaf *leaf = lx_leaf_of(tree, page);
    return leaf && leaf->marked >> page % LX_SLOTS & 1;
}

void lx_unmark(struct lx_tree *tree, struct lx_folio folio);

/* Insert a folio unless one of its pages is there. */
bool lx_insert(struct lx_arena *arena, struct lx_tree *tree, struct lx_folio folio, bool marked);

/* Remove a folio; the nodes above it stay. */
void lx_remove(struct lx_tree *tree, struct lx_folio folio);

/*
 * Insert single pages from ``page`` up to ``end``, as far as they are absent and of one leaf;
 * return how many that were.
 */
uint64_t lx_insert_pages(struct lx_arena *arena, struct lx_tree *tree, uint64_t page, uint64_t end);

/* Insert the single pages of [page, end) that are absent into a tree of bits. */
void lx_insert_all(struct lx_arena *arena, struct lx_tree *tree, uint64_t page, uint64_t end);

/* Insert pages of a leaf into a tree of bits; return which of ``bits`` were absent. */
uint64_t lx_insert_bits(struct lx_arena *arena, struct lx_tree *tree, uint64_t page, uint64_t bits);

/* Bits of the pages [page, end) that are in the leaf of the first. */
static inline uint64_t
lx_bits(uint64_t page, uint64_t end)
{
    uint64_t from = page % LX_SLOTS, to = from + (end - page);
    return (to < LX_SLOTS ? (UINT64_C(1) << to) - 1 : UINT64_MAX) & UINT64_MAX << from;
}

/*
 * How many of the pages [page, end) follow each other in ``bits`` of the leaf of the first. Runs of
 * pages are passed at once: page by page would take most of the time of an emulation.
 */
static inline uint64_t
lx_run(uint64_t bits, uint64_t page, uint64_t end)
{
    uint64_t others = ~bits & lx_bits(page, end), left = LX_SLOTS - page % LX_SLOTS;
    if (others)
        return (uint64_t)__builtin_ctzll(others) - page % LX_SLOTS;
    return end - page < left ? end - page : left;
}

/* How many of the pages [page, end) are in a tree from the first on, in its leaf. */
static inline uint64_t
lx_present(struct lx_tree *tree, uint64_t page, uint64_t end)
{
    const struct lx_leaf *leaf = lx_leaf_of(tree, page);
    return leaf ? lx_run(leaf->present, page, end) : 0;
}

/* Whether a page is in a tree. */
static inline bool
lx_has(struct lx_tree *tree, uint64_t page)
{
    const struct lx_leaf *leaf = lx_leaf_of(tree, page);
    return leaf && leaf->present >> page % LX_SLOTS & 1;
}

/* The number of a page in a tree of numbers, made if it is not there; NULL without memory. */
uint32_t *lx_number(struct lx_arena *arena, struct lx_tree *tree, uint64_t page);

/* The number of a page in a tree of numbers; 0 if it is not there. */
static inline uint32_t
lx_number_at(struct lx_tree *tree, uint64_t page)
{
    const void *leaf = lx_leaf_of(tree, page);
    return leaf ? ((const uint32_t *)leaf)[page % LX_SLOTS] : 0;
}

/* radix_tree_prev_hole, radix_tree_next_hole: pages cached before, first hole from a page on. */
uint64_t lx_history(struct lx_tree *tree, uint64_t page, uint64_t limit);
uint64_t lx_next_hole(struct lx_tree *tree, uint64_t page, uint64_t limit);

#endif
