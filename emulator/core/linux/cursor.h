/* Scans for history and holes as the xarray does them. */
#ifndef LX_CURSOR_H
#define LX_CURSOR_H

#include "tree.h"

/* page_cache_prev_miss, -1 before page 0; page_cache_next_miss, -1 without a miss. */
int64_t lx_prev_miss(struct lx_tree *tree, int64_t page, uint64_t limit, bool scans_all);
int64_t lx_next_miss(struct lx_tree *tree, int64_t page, uint64_t limit);

#endif
