/* A rate-limited device: emulator/devices/paced.py, after block/blk-throttle.c. */
#include "paced.h"

#include <math.h>

enum { SECTOR = 512, WHEEL = 63, LEVEL = 8 };
static const double COPIED_NS_PER_KIB = 500; /* a disk of 2 GB/s is memory */
static const double LARGEST = 4e18; /* ticks, bytes: fits into 63 bits, and exceeds any run */

bool
lx_paced_set(struct lx_paced *paced, const double *numbers)
{
    struct lx_fixed base = paced->base;
    *paced = (struct lx_paced){.requests_per_second = numbers[0],
                               .bytes_per_second = numbers[1],
                               .slice_ns = numbers[2],
                               .tick_ns = numbers[3],
                               .base = base};
    if (!(paced->requests_per_second > 0 && paced->bytes_per_second > 0))
        return false;
    if (paced->slice_ns == 0)
        return true;
    bool sound =
        paced->tick_ns >= 1 && paced->tick_ns <= paced->slice_ns && paced->slice_ns <= LX_MOST_NS;
    paced->slice = sound ? (int64_t)lx_later(nearbyint(paced->slice_ns / paced->tick_ns), 1) : 1;
    paced->end = -1;
    return sound;
}

/* int() of a non-negative number. */
static int64_t
whole(double value)
{
    return (int64_t)lx_sooner(value, LARGEST);
}

/* int(at // tick), as Python divides. */
static int64_t
tick_of(const struct lx_paced *p, double at_ns)
{
    double divided = (at_ns - fmod(at_ns, p->tick_ns)) / p->tick_ns, found = floor(divided);
    return whole(divided - found > 0.5 ? found + 1 : found);
}

static int64_t
up(int64_t ticks, int64_t slice)
{
    return (ticks + slice - 1) / slice * slice;
}

static int64_t
expiry(int64_t now, int64_t wait)
{
    int64_t grain = 1;
    while (wait / WHEEL >= grain)
        grain *= LEVEL;
    return ((now + wait) / grain + 1) * grain;
}

static void
extend(struct lx_paced *p, int64_t end)
{
    if (p->end < end)
        p->end = up(end, p->slice);
}

/* tg_within_bps_limit. */
static int64_t
wait_for_bytes(const struct lx_paced *p, int64_t now, double size)
{
    double rate = p->bytes_per_second * p->tick_ns / 1e9;
    if (isinf(rate))
        return 0;
    int64_t elapsed = now - p->start, granted = up(elapsed > 1 ? elapsed : 1, p->slice);
    double extra = p->passed_bytes + size - rate * (double)granted;
    if (extra <= 0)
        return 0;
    int64_t wait = whole(extra / rate);
    return (wait > 1 ? wait : 1) + granted - elapsed;
}

/* tg_within_iops_limit. */
static int64_t
wait_for_turn(const struct lx_paced *p, int64_t now)
{
    double rate = p->requests_per_second * p->tick_ns / 1e9;
    if (isinf(rate))
        return 0;
    int64_t elapsed = now - p->start, granted = up(elapsed + 1, p->slice);
    if (p->passed_bios + 1 <= whole(rate * (double)granted))
        return 0;
    int64_t one = whole(1 / rate) + 1;
    return granted - elapsed > one ? granted - elapsed : one;
}

/* tg_dispatch_time. */
static int64_t
wait_of(struct lx_paced *p, int64_t now, double size, bool queued)
{
    if (!queued && !(p->start <= now && now <= p->end)) {
        p->start = now;
        p->end = now + p->slice;
        p->passed_bytes = 0;
        p->passed_bios = 0;
    } else {
        extend(p, now + p->slice);
    }
    int64_t wait = wait_for_bytes(p, now, size);
    if (!wait)
        wait = wait_for_turn(p, now);
    extend(p, now + wait);
    return wait;
}

/* throtl_trim_slice. */
static void
trim(struct lx_paced *p, int64_t now)
{
    if (!(p->start <= now && now <= p->end))
        return;
    p->end = up(now + p->slice, p->slice);
    int64_t elapsed = (now - p->start) / p->slice * p->slice - p->slice;
    if (elapsed < p->slice)
        return;
    double seconds = (double)elapsed * p->tick_ns / 1e9, size = p->passed_bytes;
    int64_t bios = p->passed_bios;
    if (!isinf(p->bytes_per_second))
        p->passed_bytes = lx_later(size - p->bytes_per_second * seconds, 0);
    if (!isinf(p->requests_per_second)) {
        p->passed_bios = bios - whole(p->requests_per_second * seconds);
        p->passed_bios = p->passed_bios > 0 ? p->passed_bios : 0;
    }
    if (size != p->passed_bytes || bios != p->passed_bios)
        p->start += elapsed;
}

static void
charge(struct lx_paced *p, double size)
{
    p->passed_bytes += size;
    p->passed_bios++;
}

/* __blk_throtl_bio: when a bio passes. */
static double
pass(struct lx_paced *p, double now_ns, double size, bool meta)
{
    if (meta && now_ns < p->free_ns) {
        charge(p, size);
        return now_ns;
    }
    double at = lx_later(now_ns, p->free_ns);
    int64_t tick = tick_of(p, at);
    bool queued = false;
    for (int64_t wait; at < LARGEST && (wait = wait_of(p, tick, size, queued));) {
        if (meta) {
            charge(p, size);
            return at;
        }
        queued = true;
        at = (double)expiry(tick, wait) * p->tick_ns;
        tick = tick_of(p, at);
    }
    charge(p, size);
    trim(p, tick);
    p->free_ns = at;
    return at;
}

static double
evenly(struct lx_paced *p, double now_ns, struct lx_read read)
{
    double share = lx_later(read.bios / p->requests_per_second,
                            (double)(read.sectors * SECTOR) / p->bytes_per_second);
    p->free_ns = lx_later(now_ns, p->free_ns) + share * 1e9;
    return lx_later(p->free_ns, lx_fixed_submit(&p->base, now_ns, read));
}

/* LimiterQueue._overtake: a read that the limiter does not hold passes those that it holds. */
static double
overtake(struct lx_paced *p, double now_ns, struct lx_read read)
{
    struct lx_fixed base = p->base;
    base.free_ns = p->overtaken_ns;
    p->overtaken_ns = lx_fixed_submit(&base, now_ns, read);
    p->base.free_ns = lx_later(p->base.free_ns, p->overtaken_ns);
    return p->overtaken_ns;
}

double
lx_paced_submit(struct lx_paced *p, double now_ns, struct lx_read read)
{
    p->at_once = p->slice_ns != 0 && p->base.ns_per_kib < COPIED_NS_PER_KIB;
    if (read.unlimited)
        return p->slice_ns == 0 ? lx_fixed_submit(&p->base, now_ns, read)
                                : overtake(p, now_ns, read);
    if (p->slice_ns == 0)
        return evenly(p, now_ns, read);
    bool overtakes = read.meta && now_ns < p->free_ns;
    double at = now_ns;
    uint64_t left = read.sectors;
    for (uint32_t bio = read.bios; bio; bio--) {
        uint64_t part = left / bio;
        left -= part;
        at = pass(p, now_ns, (double)(part * SECTOR), read.meta);
    }
    p->at_once &= at == now_ns;
    return overtakes ? overtake(p, at, read) : lx_fixed_submit(&p->base, at, read);
}
