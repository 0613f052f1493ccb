/* Checks of a program, its memory, and its errors. */
#ifndef LX_PROGRAM_H
#define LX_PROGRAM_H

#include "kernel.h"

/* Checks of a window (pages) and of a program, and its memory. Negative: an error. */
LX_WARN_UNUSED int lx_check_window(int64_t window);
LX_WARN_UNUSED int lx_check(const struct lx_kernel *k);
LX_WARN_UNUSED int lx_set_up(struct lx_kernel *k);
void lx_tear_down(struct lx_kernel *k);

const char *lx_message(int error);
const char *lx_remedy(int error);

#endif
