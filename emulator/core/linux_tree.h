/* The page cache of one file: folios by page index, in a tree like the kernel's xarray. */
#ifndef LINUX_TREE_H
#define LINUX_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LX_SLOTS 64
#define LX_SLOT_BITS 6

/* 64 pages. ``marked`` is PG_readahead, set for all pages of a folio. */
struct lx_leaf {
    uint64_t present, marked;
    uint8_t order[LX_SLOTS];
};

struct lx_node {
    void *slots[LX_SLOTS]; /* nodes, or leaves below a node of shift LX_SLOT_BITS */
};

/* All memory of one emulation, freed at once. ``failed`` once there was too little. */
struct lx_arena {
    struct lx_block *blocks;
    size_t used;
    bool failed;
};

/* ``shift`` is that of the root; ``xa_shift`` the xarray's, negative where it has no node. */
struct lx_tree {
    void *root;
    int shift, xa_shift;
};

struct lx_folio {
    uint64_t index;
    unsigned order;
};

void *lx_alloc(struct lx_arena *arena, size_t size);
void lx_free(struct lx_arena *arena);

/* The leaf of a page, or NULL if none of its 64 pages was ever there. */
struct lx_leaf *lx_leaf_of(const struct lx_tree *tree, uint64_t page);

/* Whether a page is there, and the folio that holds it. */
bool lx_find(const struct lx_tree *tree, uint64_t page, struct lx_folio *folio);
bool lx_is_marked(const struct lx_tree *tree, uint64_t page);
void lx_unmark(struct lx_tree *tree, struct lx_folio folio);

/* Insert a folio unless one of its pages is there. */
bool lx_insert(struct lx_arena *arena, struct lx_tree *tree, struct lx_folio folio, bool marked);

/* page_cache_prev_miss, -1 before page 0; page_cache_next_miss, -1 without a miss. */
int64_t lx_prev_miss(const struct lx_tree *tree, int64_t page, uint64_t limit);
int64_t lx_next_miss(const struct lx_tree *tree, int64_t page, uint64_t limit);

/* radix_tree_prev_hole, radix_tree_next_hole: pages cached before, first hole from a page on. */
uint64_t lx_history(const struct lx_tree *tree, uint64_t page, uint64_t limit);
uint64_t lx_next_hole(const struct lx_tree *tree, uint64_t page, uint64_t limit);

#endif
