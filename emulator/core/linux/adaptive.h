/* Readahead with a current and an ahead window, 2.6.11 to 2.6.22. */
#ifndef LX_ADAPTIVE_H
#define LX_ADAPTIVE_H

#include "kernel.h"

int64_t lx_adaptive(struct lx_kernel *k, struct lx_handle *file, int64_t page, int64_t request);
void lx_adaptive_miss(struct lx_kernel *k, struct lx_handle *file);

#endif
