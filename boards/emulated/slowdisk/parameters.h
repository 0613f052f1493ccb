/* SPDX-License-Identifier: GPL-2.0-only */
/* The costs of the disk that slowdisk.c serves, as parameters of the module, and its state. */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/moduleparam.h>
#include <linux/spinlock.h>

#include "cost.h"

static struct disk_costs costs = {.parallel = 1};
static struct disk_state state;
static DEFINE_SPINLOCK(state_lock);

/* The disk as after a long rest. */
static void
forget_requests(void)
{
    spin_lock_irq(&state_lock);
    disk_forget(&state, costs.seed);
    spin_unlock_irq(&state_lock);
}

/* Take in a request; return when it is served. */
static u64
submit_now(u64 sector, u32 sectors)
{
    unsigned long flags;
    u64 done_ns;

    spin_lock_irqsave(&state_lock, flags);
    done_ns = disk_submit(&costs, &state, ktime_get_ns(), sector, sectors);
    spin_unlock_irqrestore(&state_lock, flags);
    return done_ns;
}

static int
cost_set(const char *text, const struct kernel_param *param)
{
    int error = param_set_uint(text, param);

    forget_requests();
    return error;
}
static const struct kernel_param_ops cost_ops = {.set = cost_set, .get = param_get_uint};
#define COST(name, meaning)                                                                        \
    module_param_cb(name, &cost_ops, &costs.name, 0644);                                           \
    MODULE_PARM_DESC(name, meaning)
COST(latency_ns, "cost of each request in nanoseconds");
COST(ns_per_kib, "cost of each KiB moved in nanoseconds");
COST(parallel, "requests whose latencies pass at once, 1 to 32");
COST(unit_kib, "KiB that the disk reads as a whole; 0: what a request asks for");
COST(kept_units, "units that the disk keeps, 1 to 256");
COST(hit_ns, "cost of a request whose units the disk has");
COST(hit_ns_per_kib, "cost of each KiB of such a request");
COST(fast_kib, "KiB after which a KiB costs slow_ns_per_kib; 0: never");
COST(slow_ns_per_kib, "cost of each KiB then");
COST(rest_ms, "idle milliseconds after which a KiB costs ns_per_kib again");
COST(seek_ns, "additional cost of a request that does not begin where the last one ended");
COST(seek_ns_per_root, "additional cost by the square root of the distance in KiB");
COST(jitter_ns, "mean of a random latency");
COST(seed, "where its random numbers begin");
