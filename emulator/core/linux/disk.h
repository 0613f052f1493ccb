/* Requests in flight on a device: emulator/stepwise/disk.py. */
#ifndef LX_DISK_H
#define LX_DISK_H

#include "device.h"
#include "kernel.h"

#define LX_NONE SIZE_MAX /* no request */

/*
 * Pages that the device brings by ``done_ns``; it turns to them at ``begin_ns``: infinite until the
 * queue has accepted the request. ``goes_on``: the next request is the next part of its bio.
 */
struct lx_request {
    struct lx_read read;
    double begin_ns, done_ns;
    uint32_t pages, used;
    bool goes_on, copied; /* ``copied``: by the processor of its thread (lx_device_copied) */
    bool write;
};

/* A time in which no thread computed, and at least one waited. */
struct lx_span {
    double from_ns, until_ns;
};

/*
 * The queue holds ``nr_requests``, ``nr_writes`` of which are writes, and the driver takes
 * ``nr_driver_tags`` of them; requests from ``outside`` on have found no room in it, or are
 * ``deferred``: their thread computes before it submits them. A completed request wakes one thread
 * that waits for room: ``promised`` are awake, and have not tried yet.
 */
struct lx_disk {
    struct lx_device device;
    size_t nr_requests, nr_writes, nr_driver_tags;
    double now_ns, busy_ns; /* ``busy_ns``: when the device will have done all */
    struct lx_request *requests;
    size_t n_requests, room, outside, promised;
    size_t *accepted; /* requests in the order in which the queue accepted them */
    size_t n_accepted;
    size_t *writes; /* those that write, in this order */
    size_t n_writes;
    size_t held, held_end; /* requests that ->readahead itself waits for */
    struct lx_span *spans;
    size_t n_spans, span_room;
    int64_t pages;         /* read so far */
    int64_t block_sectors; /* of compressed blocks that were read so far */
    bool deferred;
    bool unlimited, write; /* the requests that are made now: no limiter holds them; they write */
    int error;
};

/* Forget all requests, but keep the memory for later ones; its device is to be set. */
void lx_disk_renew(struct lx_disk *disk);

/* Make a request, and hand it to the queue if that has room; its row. */
size_t lx_disk_send(struct lx_disk *disk, struct lx_read read);

/* Accept requests [*next, end) while the queue has room; when it has room again, 0 if all were. */
double lx_disk_accept(struct lx_disk *disk, size_t *next, size_t end);

/* When there is room for one more request, beside those of ``promised`` threads. */
double lx_disk_room(const struct lx_disk *disk, bool write, size_t promised);

/* Whether a request waits for the driver, which has just completed one: a kernel worker runs. */
bool lx_disk_worker_runs(const struct lx_disk *disk);

/* The request of pages that somebody needs; LX_NONE if they were never read. */
size_t lx_disk_use(struct lx_kernel *k, struct lx_needed needed);

/* Whether a page is being read, or waits for that. */
bool lx_disk_is_coming(struct lx_kernel *k, struct lx_inode *inode, uint64_t page);

/* When the pages of a request can be used: parts of one bio end it together (bio_chain). */
double lx_disk_there(const struct lx_disk *disk, size_t request);

void lx_disk_add_span(struct lx_disk *disk, double from_ns, double until_ns);

/* The part of the spans that the device spent on unused pages. */
double lx_disk_wasted(const struct lx_disk *disk);
void lx_disk_free(struct lx_disk *disk);

/* Read the run in progress. */
void lx_read_run(struct lx_kernel *k, struct lx_inode *inode);

#endif
