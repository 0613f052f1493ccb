/* Files under little memory: emulator/stepwise/memory.py. */
#ifndef LX_MEMORY_H
#define LX_MEMORY_H

#include "kernel.h"

/* Forget all folios; hold the machine's ``cache_pages`` from now on. */
void lx_memory_start(struct lx_kernel *k);

/* The program itself has so many of the pages from now on (0: as many as before). */
void lx_memory_own(struct lx_kernel *k, int64_t pages);

/* Make room for a new folio, and hold it. */
void lx_memory_enter(struct lx_kernel *k, struct lx_inode *inode, struct lx_folio folio);

/* A read(2) uses a page. */
void lx_memory_read(struct lx_kernel *k, struct lx_inode *inode, int64_t page);

/* A mapping has a new entry for a page. */
void lx_memory_map(struct lx_kernel *k, const struct lx_area *area, int64_t page);

/* A mapping uses a page; code may be used again and again. */
void lx_memory_touch(struct lx_kernel *k, const struct lx_area *area, int64_t page);

void lx_memory_free(struct lx_memory *memory);

#endif
