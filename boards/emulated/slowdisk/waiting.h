/* SPDX-License-Identifier: GPL-2.0-only */
/* What the processor does while the disk serves a request: it counts on.
 *
 * An emulator that counts instructions for time has to wait in real time while the processor
 * sleeps, and wakes it late. So the processor does not sleep while a request is served; what it
 * counts are instructions that cost the emulator nothing, and the wait is over in no time.
 *
 * Where the kernel has cpuidle, and no other driver of it, the idle task counts. A thread that
 * counts is a competitor for the processor: since Linux 6.6 (EEVDF) a process that wakes beside one
 * keeps the lag with which it went to sleep, which decides which of two goes on first if one
 * completion wakes both. On an idle processor that is the one that is woken first.
 */
#ifndef SLOWDISK_WAITING_H
#define SLOWDISK_WAITING_H

#include <linux/atomic.h>
#include <linux/cpuidle.h>
#include <linux/kthread.h>
#include <linux/sched/stat.h>

static struct waiting {
    atomic_t serving; /* requests */
    bool by_idle;
    struct task_struct *counter; /* else */
} waiting;

static inline void
count_a_little(void)
{
    asm volatile(".rept 256\n nop\n .endr");
}

/* ---- By the idle task. ------------------------------------------------------------------- */

#ifdef CONFIG_CPU_IDLE
static int
count_idle(struct cpuidle_device *device, struct cpuidle_driver *driver, int state)
{
    raw_local_irq_enable();
    while (!need_resched() && atomic_read(&waiting.serving))
        count_a_little();
    raw_local_irq_disable();
    return state;
}

static struct cpuidle_driver idle_driver = {
    .name = "slowdisk",
    .owner = THIS_MODULE,
    .state_count = 1,
    .states[0] =
        {
            .name = "COUNT",
            .desc = "counts while a request is served",
            .flags = CPUIDLE_FLAG_POLLING,
            .enter = count_idle,
        },
};
static struct cpuidle_device idle_device;

/* While nothing is served the processor sleeps as it does without a driver. */
static void
let_idle_task_count(bool counts)
{
    idle_device.enabled = counts;
}

static int
register_idle(void)
{
    int error = num_possible_cpus() > 1 ? -EBUSY : cpuidle_register_driver(&idle_driver);

    if (error)
        return error;
    error = cpuidle_register_device(&idle_device);
    if (error)
        cpuidle_unregister_driver(&idle_driver);
    else
        let_idle_task_count(false);
    return error;
}

static void
unregister_idle(void)
{
    let_idle_task_count(true);
    cpuidle_unregister_device(&idle_device);
    cpuidle_unregister_driver(&idle_driver);
}
#else
static void
let_idle_task_count(bool counts)
{
}

static int
register_idle(void)
{
    return -ENODEV;
}

static void
unregister_idle(void)
{
}
#endif

/* ---- By a thread, that stands back for all others. --------------------------------------- */

/* The lowest priority alone would still get its share: whoever else can run is let run. */
static void
count_on(void)
{
    while (atomic_read(&waiting.serving)) {
        count_a_little();
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
        if (!atomic_read(&waiting.serving) && !kthread_should_stop())
            schedule();
        __set_current_state(TASK_RUNNING);
    }
    return 0;
}

/* ---- Either. ----------------------------------------------------------------------------- */

static int
begin_counting(void)
{
    waiting.by_idle = register_idle() == 0;
    if (waiting.by_idle)
        return 0;
    waiting.counter = kthread_run(keep_awake, NULL, "slowdisk");
    return PTR_ERR_OR_ZERO(waiting.counter);
}

static void
end_counting(void)
{
    if (waiting.by_idle)
        unregister_idle();
    else
        kthread_stop(waiting.counter);
}

/* A request begins to be served. */
static void
wait_for_one_more(void)
{
    atomic_inc(&waiting.serving);
    if (waiting.by_idle)
        let_idle_task_count(true);
    else
        wake_up_process(waiting.counter);
}

static void
wait_for_one_less(void)
{
    if (atomic_dec_and_test(&waiting.serving) && waiting.by_idle)
        let_idle_task_count(false);
}

#endif
