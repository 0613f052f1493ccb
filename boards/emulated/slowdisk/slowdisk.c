// SPDX-License-Identifier: GPL-2.0-only
/*
 * A block device in memory, /dev/slow0, that serves requests at an explicit cost (cost.h), by
 * default one at a time: latency_ns + ns_per_kib for each KiB moved. Then nothing overlaps, and
 * the cost of a run is the sum over its requests. Costs are parameters and may be changed at any
 * time; the disk is then as after a long rest. A second device, /dev/slow1, may lie on the same
 * disk.
 */
#include <linux/blk-mq.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/version.h>

#include "older.h"
#include "pages.h"
#include "parameters.h"
#include "waiting.h"

enum { MOST_QUEUED = 256 };

static unsigned int size_kib = 16384;
module_param(size_kib, uint, 0444);
MODULE_PARM_DESC(size_kib, "size of the device in KiB");

static unsigned int scratch_kib;
module_param(scratch_kib, uint, 0444);
MODULE_PARM_DESC(scratch_kib, "size of a second device on the same disk, /dev/slow1; 0: none");

static unsigned int queue_depth = 1;
module_param(queue_depth, uint, 0444);
MODULE_PARM_DESC(queue_depth, "requests that the driver takes before one is served");

/* The monotonic clock, so that a shell can read the time without starting a program. */
static int
now_get(char *text, const struct kernel_param *unused)
{
    return sysfs_emit(text, "%lld\n", ktime_get_ns());
}
static const struct kernel_param_ops now_ops = {.get = now_get};
module_param_cb(now_ns, &now_ops, NULL, 0444);

/* Where a device lies on the disk, in bytes. */
struct slow_device {
    struct gendisk *disk;
    loff_t begin;
    loff_t end;
};

static struct slow_disk {
    int major;
    struct slow_device devices[2];
    struct blk_mq_tag_set tags;
} slow;

static blk_status_t
move_data(struct request *request)
{
    const struct slow_device *device = request->q->queuedata;
    loff_t at = device->begin + ((loff_t)blk_rq_pos(request) << SECTOR_SHIFT);
    struct req_iterator position;
    struct bio_vec piece;

    rq_for_each_segment(piece, request, position)
    {
        if (at + piece.bv_len > device->end)
            return BLK_STS_IOERR;
        move_piece(rq_data_dir(request) == WRITE, at, &piece);
        at += piece.bv_len;
    }
    return BLK_STS_OK;
}

static enum hrtimer_restart
slow_served(struct hrtimer *timer)
{
    wait_for_one_less();
    blk_mq_complete_request(blk_mq_rq_from_pdu(timer));
    return HRTIMER_NORESTART;
}

/* The timer ends the request when the disk has served it. */
static void
serve(struct request *request)
{
    const struct slow_device *device = request->q->queuedata;
    u64 sector = blk_rq_pos(request) + (u64)(device->begin >> SECTOR_SHIFT), done_ns;
    struct hrtimer *timer = blk_mq_rq_to_pdu(request);

    older_hrtimer_setup(timer, slow_served);
    done_ns = submit_now(sector, blk_rq_sectors(request));
    wait_for_one_more();
    hrtimer_start(timer, ns_to_ktime(done_ns), HRTIMER_MODE_ABS);
}

static blk_status_t
slow_queue_rq(struct blk_mq_hw_ctx *context, const struct blk_mq_queue_data *queued)
{
    struct request *request = queued->rq;
    blk_status_t status;

    blk_mq_start_request(request);
    if (req_op(request) != REQ_OP_READ && req_op(request) != REQ_OP_WRITE)
        return BLK_STS_NOTSUPP;
    status = move_data(request);
    if (status == BLK_STS_OK)
        serve(request);
    return status;
}

static void
slow_complete(struct request *request)
{
    blk_mq_end_request(request, BLK_STS_OK);
}

static const struct blk_mq_ops slow_mq_ops = {
    .queue_rq = slow_queue_rq,
    .complete = slow_complete,
};

static const struct block_device_operations slow_ops = {.owner = THIS_MODULE};

static int
add_device(int number, loff_t begin, unsigned int kib)
{
    struct slow_device *device = &slow.devices[number];
    struct gendisk *disk = older_alloc_disk(&slow.tags, device);
    int error;

    if (IS_ERR(disk))
        return PTR_ERR(disk);
    device->begin = begin;
    device->end = begin + ((loff_t)kib << 10);
    disk->major = slow.major;
    disk->first_minor = number;
    disk->minors = 1;
    disk->fops = &slow_ops;
    snprintf(disk->disk_name, DISK_NAME_LEN, "slow%d", number);
    set_capacity(disk, (sector_t)kib * 2);
    error = older_add_disk(disk);
    if (error)
        older_put_disk(disk);
    else
        device->disk = disk;
    return error;
}

static void
remove_devices(void)
{
    for (int number = 0; number < ARRAY_SIZE(slow.devices); number++) {
        if (!slow.devices[number].disk)
            continue;
        del_gendisk(slow.devices[number].disk);
        older_put_disk(slow.devices[number].disk);
    }
}

static int
add_devices(void)
{
    int error = add_device(0, 0, size_kib);

    if (!error && scratch_kib)
        error = add_device(1, (loff_t)size_kib << 10, scratch_kib);
    if (error)
        remove_devices();
    return error;
}

static int
alloc_tags(void)
{
    slow.tags = (struct blk_mq_tag_set){
        .ops = &slow_mq_ops,
        .nr_hw_queues = 1,
        .queue_depth = clamp_t(unsigned int, queue_depth, 1, MOST_QUEUED),
        .cmd_size = sizeof(struct hrtimer),
        .numa_node = NUMA_NO_NODE,
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
        .flags = BLK_MQ_F_SHOULD_MERGE,
#endif
    };
    return blk_mq_alloc_tag_set(&slow.tags);
}

static int __init
slow_init(void)
{
    int error;

    forget_requests();
    error = alloc_disk_pages((unsigned long)size_kib + scratch_kib);
    if (error)
        return error;
    error = slow.major = register_blkdev(0, "slow");
    if (error < 0)
        goto free_pages;
    error = begin_counting();
    if (error)
        goto unregister;
    error = alloc_tags();
    if (error)
        goto stop;
    error = add_devices();
    if (!error)
        return 0;
    blk_mq_free_tag_set(&slow.tags);
stop:
    end_counting();
unregister:
    unregister_blkdev(slow.major, "slow");
free_pages:
    free_disk_pages();
    return error;
}

static void __exit
slow_exit(void)
{
    remove_devices();
    blk_mq_free_tag_set(&slow.tags);
    unregister_blkdev(slow.major, "slow");
    end_counting();
    free_disk_pages();
}

module_init(slow_init);
module_exit(slow_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A block device in memory with an explicit cost");
