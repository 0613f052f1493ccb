/* A device, and what is under way from it: emulator/device.py and emulator/linux/disk.py. */
#ifndef LINUX_DISK_H
#define LINUX_DISK_H

#include "linux_kernel.h"

/* Kinds of devices, and their numbers in order. */
enum lx_device_kind {
    LX_FIXED, /* latency_ns, ns_per_kib */
    LX_DEVICE_KINDS,
};

/* A model of a device as numbers, and how it stands. */
struct lx_device {
    enum lx_device_kind kind;
    const double *numbers;
    double free_ns;
};

struct lx_read {
    uint64_t sector, sectors;
    uint32_t bios;
    bool meta;
};

/* Whether so many numbers describe a device of a kind. Negative: they do not. */
LX_WARN_UNUSED int lx_device_set(struct lx_device *device, const double *numbers, size_t n);

/* Take in a read; return when it completes. */
double lx_device_submit(struct lx_device *device, double now_ns, struct lx_read read);

/* Pages that the device brings by ``done_ns``; it turns to them at ``begin_ns``. */
struct lx_request {
    double begin_ns, done_ns;
    uint32_t pages, used;
};

/* A time in which nobody computed, and somebody waited. */
struct lx_span {
    double from_ns, until_ns;
};

struct lx_disk {
    struct lx_device device;
    double now_ns, busy_ns; /* ``busy_ns``: when the device will have done all */
    double held_ns;         /* until when whoever reads now is held by ->readahead itself */
    struct lx_request *requests;
    size_t n_requests, room;
    struct lx_span *spans;
    size_t n_spans, span_room;
    int64_t pages; /* read so far */
    bool failed;
};

/* Send a request to the device; return when it is done. */
double lx_disk_send(struct lx_disk *disk, struct lx_read read);

/* When pages are there that somebody needs. */
double lx_disk_use(struct lx_kernel *k, struct lx_needed needed);

void lx_disk_add_span(struct lx_disk *disk, double from_ns, double until_ns);

/* How much of the spans the device spent on pages that nobody used. */
double lx_disk_wasted(const struct lx_disk *disk);
void lx_disk_free(struct lx_disk *disk);

#endif
