/* Whether a program can run, what it runs on, and what went wrong. */
#ifndef LX_PROGRAM_H
#define LX_PROGRAM_H

#include "kernel.h"

/* Whether a program can run, and what it runs on. Negative: an error. */
LX_WARN_UNUSED int lx_check(const struct lx_kernel *k, const int64_t *windows, size_t n_windows);
LX_WARN_UNUSED int lx_set_up(struct lx_kernel *k);
void lx_tear_down(struct lx_kernel *k);

const char *lx_message(int error);
const char *lx_remedy(int error);

#endif
