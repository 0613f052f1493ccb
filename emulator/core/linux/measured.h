/* A device whose times were measured by size: emulator/devices/measured.py. */
#ifndef LX_MEASURED_H
#define LX_MEASURED_H

#include "fixed_cost.h"

/* Times by size (KiB), rising. */
struct lx_table {
    const double *kib, *latency_ns, *occupancy_ns;
    size_t n;
};

struct lx_measured {
    struct lx_table random, sequential;
    double free_ns;
    uint64_t end; /* sector after the last one, if ``began`` */
    bool began;
};

/* Two numbers of sizes, then the tables, which stay the caller's; false: out of range. */
bool lx_measured_set(struct lx_measured *measured, const double *numbers, size_t n);
double lx_measured_submit(struct lx_measured *measured, double now_ns, struct lx_read read);

#endif
