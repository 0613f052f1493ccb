/* Requests in flight on a device: emulator/linux/disk.py. */
#ifndef LX_DISK_H
#define LX_DISK_H

#include "device.h"
#include "kernel.h"

/*
 * Pages that the device brings by ``done_ns``; it turns to them at ``begin_ns``. They are there at
 * ``there_ns``: parts of one bio end it together (bio_chain).
 */
struct lx_request {
    double begin_ns, done_ns, there_ns;
    uint32_t pages, used;
};

/* A time in which no thread computed, and at least one waited. */
struct lx_span {
    double from_ns, until_ns;
};

struct lx_disk {
    struct lx_device device;
    double now_ns, busy_ns; /* ``busy_ns``: when the device will have done all */
    double held_ns;         /* until when ->readahead itself, or a full queue, blocks the reader */
    struct lx_request *requests;
    size_t n_requests, room;
    struct lx_span *spans;
    size_t n_spans, span_room;
    int64_t pages;         /* read so far */
    int64_t block_sectors; /* of compressed blocks that were read so far */
    int error;
};

/* Send a request to the device; return when it is done. */
double lx_disk_send(struct lx_disk *disk, struct lx_read read);

/* When pages are there that somebody needs. */
double lx_disk_use(struct lx_kernel *k, struct lx_needed needed);

void lx_disk_add_span(struct lx_disk *disk, double from_ns, double until_ns);

/* The part of the spans that the device spent on unused pages. */
double lx_disk_wasted(const struct lx_disk *disk);
void lx_disk_free(struct lx_disk *disk);

/* Read the run in progress. */
void lx_read_run(struct lx_kernel *k, struct lx_inode *inode);

#endif
