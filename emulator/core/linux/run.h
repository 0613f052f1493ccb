/* A program under one window, operation by operation. */
#ifndef LX_RUN_H
#define LX_RUN_H

#include "faults.h"
#include "reads.h"

/* An operation that can be suspended where it needs a page, and resumed. */
struct lx_call {
    const struct lx_operation *operation;
    struct lx_reading reading;
    struct lx_area *area;
    enum lx_fault_left left;
    bool begun;
};

/* Begin with one window (pages), with all state reset. */
void lx_start(struct lx_kernel *k, int64_t window);
void lx_begin(struct lx_kernel *k, struct lx_call *call, const struct lx_operation *operation);
/* Continue up to the next pages needed; false: the operation has ended. */
bool lx_go_on(struct lx_kernel *k, struct lx_call *call, struct lx_needed *needed);

/* Run the program with each of the windows (pages). Negative: an error. */
LX_WARN_UNUSED int lx_emulate(const struct lx_program *program, const struct lx_rules *rules,
                              const struct lx_machine *machine, const int64_t *windows,
                              size_t n_windows, struct lx_counts *counts);

#endif
