/* How long a device takes to serve requests: emulator/device.py, paced.py and measured.py. */
#ifndef LINUX_DEVICE_H
#define LINUX_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LX_MOST_NS 1e14 /* that anything takes that is given: more than a day */

/* Kinds of devices, and their numbers in order; times are nanoseconds. */
enum lx_device_kind {
    LX_FIXED,    /* latency, time a KiB, handover */
    LX_PACED,    /* requests a second, bytes a second, slice, tick; then as LX_FIXED */
    LX_MEASURED, /* random and sequential sizes; then of both: KiB, latency, occupancy by size */
    LX_DEVICE_KINDS,
};

struct lx_fixed {
    double latency_ns, ns_per_kib, handover_ns, free_ns;
};

/* Paced and its queues; struct throtl_grp. Ticks are whole numbers, slices so many of them. */
struct lx_paced {
    double requests_per_second, bytes_per_second, slice_ns, tick_ns;
    struct lx_fixed base;
    int64_t slice, start, end, passed_bios;
    double passed_bytes, free_ns;
};

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

struct lx_device {
    enum lx_device_kind kind;
    struct lx_fixed fixed;
    struct lx_paced paced;
    struct lx_measured measured;
};

struct lx_read {
    uint64_t sector, sectors;
    uint32_t bios;
    bool meta;
};

/* Let a device be what kind and numbers (which stay the caller's) say, idle; false: none is so. */
bool lx_device_set(struct lx_device *device, const double *numbers, size_t n);

/* Take in a read; return when it completes. */
double lx_device_submit(struct lx_device *device, double now_ns, struct lx_read read);

double lx_fixed_submit(struct lx_fixed *fixed, double now_ns, struct lx_read read);

/* linux_paced.c */
/* The four numbers before those of ``base``, which stays. */
bool lx_paced_set(struct lx_paced *paced, const double *numbers);
double lx_paced_submit(struct lx_paced *paced, double now_ns, struct lx_read read);

#endif
