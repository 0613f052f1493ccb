/* A device of fixed cost, and the common part of all devices: emulator/devices/device.py. */
#ifndef LX_FIXED_COST_H
#define LX_FIXED_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LX_MOST_NS 1e14 /* upper bound of any duration passed in (about 28 h) */

/* The later and the sooner of two times: fmax and fmin without a call; neither is NaN. */
static inline double
lx_later(double a, double b)
{
    return a > b ? a : b;
}

static inline double
lx_sooner(double a, double b)
{
    return a < b ? a : b;
}

static inline bool
lx_is_time(double ns)
{
    return ns >= 0 && ns <= LX_MOST_NS;
}

struct lx_read {
    uint64_t sector, sectors;
    uint32_t bios;
    bool meta, unlimited; /* ``unlimited``: no limiter holds it */
};

struct lx_fixed {
    double latency_ns, ns_per_kib, handover_ns, free_ns;
};

/* Three numbers, in the order of the fields; false: one is out of range. */
bool lx_fixed_set(struct lx_fixed *fixed, const double *numbers, size_t n);

/* Take in a read; return when it completes. */
double lx_fixed_submit(struct lx_fixed *fixed, double now_ns, struct lx_read read);

#endif
