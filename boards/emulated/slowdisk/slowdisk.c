// SPDX-License-Identifier: GPL-2.0-only
/*
 * A block device in memory, /dev/slow0, that serves one request at a time at an explicit cost:
 * latency_ns + ns_per_kib for each KiB moved. Nothing overlaps, so that the cost of a run is
 * the sum over its requests. Costs are parameters and may be changed at any time. A second
 * device, /dev/slow1, may lie on the same disk.
 *
 * An emulator that counts instructions for time has to wait in real time while the processor
 * sleeps, and wakes it late. So the processor counts on instead while a request is served, in a
 * thread that stands back for all others; what it counts are instructions that cost the emulator
 * nothing, and the wait is over in no time.
 */
#include <linux/blk-mq.h>
#include <linux/highmem.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched/stat.h>
#include <linux/version.h>

static unsigned int size_kib = 16384;
module_param(size_kib, uint, 0444);
MODULE_PARM_DESC(size_kib, "size of the device in KiB");

static unsigned int scratch_kib;
module_param(scratch_kib, uint, 0444);
MODULE_PARM_DESC(scratch_kib, "size of a second device on the same disk, /dev/slow1; 0: none");

static unsigned int latency_ns;
module_param(latency_ns, uint, 0644);
MODULE_PARM_DESC(latency_ns, "cost of each request in nanoseconds");

static unsigned int ns_per_kib;
module_param(ns_per_kib, uint, 0644);
MODULE_PARM_DESC(ns_per_kib, "cost of each KiB moved in nanoseconds");

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
    struct page **pages; /* single ones: a 32-bit kernel cannot map a large disk at once */
    int major;
    struct slow_device devices[2];
    struct blk_mq_tag_set tags;
    struct hrtimer timer;
    struct request *serving; /* the one tag of the queue: there is never a second request */
    struct task_struct *waker;
} slow;

/* The lowest priority alone would still get its share: whoever else can run is let run. */
static void
count_on(void)
{
    while (READ_ONCE(slow.serving)) {
        asm volatile(".rept 256\n nop\n .endr");
        if (!single_task_running())
            yield();
        cond_resched();
    }
}

static int
keep_awake(void *unused)
{
    set_user_nice(current, MAX_NICE);
    while (!kthread_should_stop()) {
        count_on();
        set_current_state(TASK_INTERRUPTIBLE);
        if (!READ_ONCE(slow.serving) && !kthread_should_stop())
            schedule();
        __set_current_state(TASK_RUNNING);
    }
    return 0;
}

static unsigned long
disk_page_count(void)
{
    return DIV_ROUND_UP((unsigned long)size_kib + scratch_kib, PAGE_SIZE >> 10);
}

/* Move a piece of a request's data, which may lie across two pages of the disk. */
static void
move_piece(bool write, loff_t at, struct bio_vec *piece)
{
    char *data = bvec_kmap_local(piece);
    size_t length;

    for (size_t done = 0; done < piece->bv_len; done += length, at += length) {
        struct page *page = slow.pages[at >> PAGE_SHIFT];

        length = min_t(size_t, piece->bv_len - done, PAGE_SIZE - offset_in_page(at));
        if (write)
            memcpy_to_page(page, offset_in_page(at), data + done, length);
        else
            memcpy_from_page(data + done, page, offset_in_page(at), length);
    }
    if (!write)
        flush_dcache_page(piece->bv_page);
    kunmap_local(data);
}

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

static u64
cost_ns(const struct request *request)
{
    return latency_ns + ((u64)blk_rq_bytes(request) * ns_per_kib >> 10);
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
    if (status != BLK_STS_OK)
        return status;
    WRITE_ONCE(slow.serving, request);
    hrtimer_start(&slow.timer, ns_to_ktime(cost_ns(request)), HRTIMER_MODE_REL);
    wake_up_process(slow.waker);
    return BLK_STS_OK;
}

static enum hrtimer_restart
slow_served(struct hrtimer *timer)
{
    struct request *served = slow.serving;

    WRITE_ONCE(slow.serving, NULL);
    blk_mq_complete_request(served);
    return HRTIMER_NORESTART;
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

static struct gendisk *
new_disk(struct slow_device *device)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
    return blk_mq_alloc_disk(&slow.tags, NULL, device);
#else
    return blk_mq_alloc_disk(&slow.tags, device);
#endif
}

static int
add_device(int number, loff_t begin, unsigned int kib)
{
    struct slow_device *device = &slow.devices[number];
    struct gendisk *disk = new_disk(device);
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
    error = add_disk(disk);
    if (error)
        put_disk(disk);
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
        put_disk(slow.devices[number].disk);
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
        .queue_depth = 1,
        .numa_node = NUMA_NO_NODE,
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
        .flags = BLK_MQ_F_SHOULD_MERGE,
#endif
    };
    return blk_mq_alloc_tag_set(&slow.tags);
}

static void
set_up_timer(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
    hrtimer_setup(&slow.timer, slow_served, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
#else
    hrtimer_init(&slow.timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
    slow.timer.function = slow_served;
#endif
}

static void
free_disk_pages(void)
{
    for (unsigned long i = 0; i < disk_page_count() && slow.pages[i]; i++)
        __free_page(slow.pages[i]);
    kvfree(slow.pages);
}

/* Fails, rather than have processes killed, where memory is too small for the disk. */
static int
alloc_disk_pages(void)
{
    const gfp_t flags = GFP_HIGHUSER | __GFP_ZERO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN;

    slow.pages = kvcalloc(disk_page_count(), sizeof(*slow.pages), GFP_KERNEL);
    if (!slow.pages)
        return -ENOMEM;
    for (unsigned long i = 0; i < disk_page_count(); i++) {
        slow.pages[i] = alloc_page(flags);
        if (!slow.pages[i]) {
            free_disk_pages();
            return -ENOMEM;
        }
        cond_resched();
    }
    return 0;
}

static int __init
slow_init(void)
{
    int error;

    set_up_timer();
    error = alloc_disk_pages();
    if (error)
        return error;
    error = slow.major = register_blkdev(0, "slow");
    if (error < 0)
        goto free_pages;
    slow.waker = kthread_run(keep_awake, NULL, "slowdisk");
    error = PTR_ERR_OR_ZERO(slow.waker);
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
    kthread_stop(slow.waker);
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
    hrtimer_cancel(&slow.timer);
    kthread_stop(slow.waker);
    free_disk_pages();
}

module_init(slow_init);
module_exit(slow_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A block device in memory with an explicit cost");
