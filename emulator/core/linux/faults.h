/* Page faults on mapped files. */
#ifndef LX_FAULTS_H
#define LX_FAULTS_H

#include "kernel.h"

/* The rest of a fault after its page has been read. */
enum lx_fault_left { LX_FAULT_OVER, LX_FAULT_MAPPED, LX_FAULT_FINISH, LX_FAULT_AGAIN };

enum lx_fault_left lx_fault_begin(struct lx_kernel *k, struct lx_area *area, int64_t page,
                                  bool write);
/* Do what is left: LX_FAULT_FINISH or more. */
void lx_fault_end(struct lx_kernel *k, struct lx_area *area, int64_t page, bool write,
                  enum lx_fault_left left);

#endif
