/* On-demand readahead, 2.6.23 and later. */
#ifndef LX_ONDEMAND_H
#define LX_ONDEMAND_H

#include "kernel.h"

void lx_miss(struct lx_kernel *k, struct lx_handle *file, int64_t page, int64_t request);
void lx_marker(struct lx_kernel *k, struct lx_handle *file, struct lx_folio folio, int64_t page,
               int64_t request);
void lx_willneed(struct lx_kernel *k, struct lx_handle *file, int64_t start, int64_t pages);

#endif
