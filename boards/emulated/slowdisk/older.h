/* SPDX-License-Identifier: GPL-2.0-only */
/* What slowdisk.c uses of newer kernels, for kernels since 5.10. */
#ifndef SLOWDISK_OLDER_H
#define SLOWDISK_OLDER_H

#include <linux/blk-mq.h>
#include <linux/highmem.h>
#include <linux/hrtimer.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 11, 0)
#define kunmap_local kunmap_atomic
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 15, 0)
static inline void *
bvec_kmap_local(struct bio_vec *piece)
{
    return kmap_atomic(piece->bv_page) + piece->bv_offset;
}
#endif

/* A disk with a queue of these tags, whose queuedata is the device. */
static inline struct gendisk *
older_alloc_disk(struct blk_mq_tag_set *tags, void *device)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
    return blk_mq_alloc_disk(tags, NULL, device);
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(5, 15, 0)
    return blk_mq_alloc_disk(tags, device);
#else
    struct gendisk *disk;
    struct request_queue *queue = blk_mq_init_queue(tags);

    if (IS_ERR(queue))
        return ERR_CAST(queue);
    queue->queuedata = device;
    disk = alloc_disk(1);
    if (!disk) {
        blk_cleanup_queue(queue);
        return ERR_PTR(-ENOMEM);
    }
    disk->queue = queue;
    return disk;
#endif
}

/* Give the disk to the system. */
static inline int
older_add_disk(struct gendisk *disk)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 15, 0)
    return add_disk(disk);
#else
    add_disk(disk);
    return 0;
#endif
}

/* Forget the disk, whether it was added or not. */
static inline void
older_put_disk(struct gendisk *disk)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 15, 0)
    blk_cleanup_queue(disk->queue);
#endif
    put_disk(disk);
}

/* A timer that is set to a time of the monotonic clock. */
static inline void
older_hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*expired)(struct hrtimer *))
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
    hrtimer_setup(timer, expired, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
#else
    hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
    timer->function = expired;
#endif
}

#endif
