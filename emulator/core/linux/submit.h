/* Reading ranges and windows into the page cache. */
#ifndef LX_SUBMIT_H
#define LX_SUBMIT_H

#include "kernel.h"

int64_t lx_next_size(int64_t size, int64_t limit);
int64_t lx_power_of_two(int64_t number);
int64_t lx_initial_size(int64_t request, int64_t limit);
void lx_read_single(struct lx_kernel *k, struct lx_inode *inode, int64_t page);
int64_t lx_read_range(struct lx_kernel *k, struct lx_handle *file, int64_t start, int64_t pages,
                      int64_t ahead);
void lx_read_forced(struct lx_kernel *k, struct lx_handle *file, int64_t start, int64_t pages);
void lx_submit_at(struct lx_kernel *k, struct lx_handle *file, int64_t start, unsigned order);

#endif
