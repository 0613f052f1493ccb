/* The service times of a device: emulator/devices. */
#ifndef LX_DEVICE_H
#define LX_DEVICE_H

#include "measured.h"
#include "paced.h"
#include "stateful.h"

/* Kinds of devices, and their numbers in order; times are nanoseconds. */
enum lx_device_kind {
    LX_FIXED,    /* latency, time a KiB, handover */
    LX_PACED,    /* requests a second, bytes a second, slice, tick; then as LX_FIXED */
    LX_MEASURED, /* random and sequential sizes; then of both: KiB, latency, occupancy by size */
    LX_STATEFUL, /* the ten times and five counts of struct lx_stateful, in order */
    LX_DEVICE_KINDS,
};

struct lx_device {
    enum lx_device_kind kind;
    struct lx_fixed fixed;
    struct lx_paced paced;
    struct lx_measured measured;
    struct lx_stateful stateful;
};

/* Initialise an idle device from kind and numbers (which the caller keeps); false if invalid. */
bool lx_device_set(struct lx_device *device, const double *numbers, size_t n);

/* Take in a read; return when it completes. */
double lx_device_submit(struct lx_device *device, double now_ns, struct lx_read read);

/* Whether the last read was copied by the processor of its thread, which went on after it. */
bool lx_device_copied(const struct lx_device *device);

#endif
