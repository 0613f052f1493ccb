/* A rate-limited device: emulator/devices/paced.py. */
#ifndef LX_PACED_H
#define LX_PACED_H

#include "fixed_cost.h"

/* Paced and its queues; struct throtl_grp. Ticks are integers; a slice is a number of ticks. */
struct lx_paced {
    double requests_per_second, bytes_per_second, slice_ns, tick_ns;
    struct lx_fixed base;
    int64_t slice, start, end, passed_bios;
    double passed_bytes, free_ns;
    bool at_once;        /* the last read: no wait, and its data were copied meanwhile */
    double overtaken_ns; /* when reads that the limiter did not hold are served */
};

/* The four numbers before those of ``base``, which stays. */
bool lx_paced_set(struct lx_paced *paced, const double *numbers);
double lx_paced_submit(struct lx_paced *paced, double now_ns, struct lx_read read);

#endif
