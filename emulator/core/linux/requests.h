/* From pages read to block requests. */
#ifndef LX_REQUESTS_H
#define LX_REQUESTS_H

#include "kernel.h"

/* Count the run in progress, or read it from the disk, and forget it. */
void lx_end_run(struct lx_kernel *k, struct lx_inode *inode);

/* The same for a page after the end of a file: nothing is read for it. */
void lx_end_empty_run(struct lx_kernel *k, const struct lx_inode *inode);

#endif
