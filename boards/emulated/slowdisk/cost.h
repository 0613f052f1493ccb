/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a request costs on the disk that slowdisk.c serves, by the numbers in struct disk_costs. A
 * request takes a place of the disk (``parallel`` at a time), waits there for its latency, and is
 * then moved, one request after another. emulator/devices/stateful.py is the same in Python.
 *
 * It needs no more of the kernel than integers, so that tests compile it for themselves.
 */
#ifndef SLOWDISK_COST_H
#define SLOWDISK_COST_H

enum { MOST_PARALLEL = 32, MOST_UNITS = 256 };

struct disk_costs {
    u32 latency_ns, ns_per_kib;
    u32 parallel;                  /* requests at once; the others wait */
    u32 unit_kib, kept_units;      /* read as a whole, and kept by the disk; 0: exact reads */
    u32 hit_ns, hit_ns_per_kib;    /* cost where the disk has all units of a request */
    u32 fast_kib, slow_ns_per_kib; /* cost of a KiB after so many without a rest; 0: as ever */
    u32 rest_ms;                   /* idle time after which the count begins anew */
    u32 seek_ns, seek_ns_per_root; /* of a request that is not where the last one ended */
    u32 jitter_ns, seed;           /* mean of a random latency; 0 to 3 times as much */
};

struct disk_unit {
    u64 number;
    u32 used; /* 0: no unit */
};

struct disk_state {
    u64 place_free_ns[MOST_PARALLEL];
    u64 moved_ns; /* when the last request is moved */
    u64 end;      /* sector after the last request */
    u64 sectors;  /* moved without a rest */
    u32 random, clock;
    struct disk_unit units[MOST_UNITS];
};

/* The disk as after a long rest, with nothing kept. */
static inline void
disk_forget(struct disk_state *disk, u32 seed)
{
    *disk = (struct disk_state){.random = seed ? seed : 1, .end = ~0ULL};
}

/* Marsaglia, Xorshift RNGs, 2003: 32 bits, shifts 13, 17 and 5. */
static inline u32
disk_random(struct disk_state *disk)
{
    disk->random ^= disk->random << 13;
    disk->random ^= disk->random >> 17;
    disk->random ^= disk->random << 5;
    return disk->random;
}

/* More often short than long: three times the mean, times the square of a uniform number. */
static inline u64
disk_jitter_ns(const struct disk_costs *costs, struct disk_state *disk)
{
    u64 uniform = disk_random(disk) >> 16;

    return costs->jitter_ns * 3ULL * (uniform * uniform >> 16) >> 16;
}

static inline u64
disk_seek_ns(const struct disk_costs *costs, const struct disk_state *disk, u64 sector)
{
    u64 sectors = sector > disk->end ? sector - disk->end : disk->end - sector;

    if (!sectors || (!costs->seek_ns && !costs->seek_ns_per_root))
        return 0;
    if (disk->end == ~0ULL)
        sectors = sector; /* the first request: from the begin of the disk */
    return costs->seek_ns + (u64)costs->seek_ns_per_root * int_sqrt((unsigned long)(sectors >> 1));
}

/* Keep a unit in place of the one that was used longest ago; whether the disk had it. */
static inline bool
disk_keep_unit(const struct disk_costs *costs, struct disk_state *disk, u64 number)
{
    u32 kept = clamp_t(u32, costs->kept_units, 1, MOST_UNITS);
    struct disk_unit *oldest = disk->units;
    struct disk_unit *unit = disk->units;

    for (; unit < disk->units + kept; unit++) {
        if (unit->used && unit->number == number)
            break;
        if (unit->used < oldest->used)
            oldest = unit;
    }
    if (unit < disk->units + kept) {
        unit->used = ++disk->clock;
        return true;
    }
    *oldest = (struct disk_unit){.number = number, .used = ++disk->clock};
    return false;
}

/* How many of a request's units the disk has to read. */
static inline u32
disk_units_read(const struct disk_costs *costs, struct disk_state *disk, u64 sector, u32 sectors)
{
    u64 last = div_u64(sector + sectors - 1, costs->unit_kib * 2);
    u32 missing = 0;

    for (u64 at = div_u64(sector, costs->unit_kib * 2); at <= last; at++)
        missing += !disk_keep_unit(costs, disk, at);
    return missing;
}

/* Take in a request; return when it is served. Requests come in the order of their times. */
static inline u64
disk_submit(const struct disk_costs *costs, struct disk_state *disk, u64 now_ns, u64 sector,
            u32 sectors)
{
    u32 places = clamp_t(u32, costs->parallel, 1, MOST_PARALLEL), free = 0;
    u64 latency_ns = costs->latency_ns, per_kib = costs->ns_per_kib, ready_ns;
    u32 read = sectors; /* by the disk, which may be more, or nothing */

    if (now_ns >= disk->moved_ns + costs->rest_ms * 1000000ULL)
        disk->sectors = 0;
    if (costs->unit_kib)
        read = disk_units_read(costs, disk, sector, sectors) * costs->unit_kib * 2;
    if (read) {
        if (costs->fast_kib && disk->sectors >= costs->fast_kib * 2ULL)
            per_kib = costs->slow_ns_per_kib;
        latency_ns += disk_seek_ns(costs, disk, sector);
    } else {
        latency_ns = costs->hit_ns;
        per_kib = costs->hit_ns_per_kib;
        read = sectors;
    }
    if (costs->jitter_ns)
        latency_ns += disk_jitter_ns(costs, disk);
    disk->end = sector + sectors;
    disk->sectors += read;
    for (u32 place = 1; place < places; place++)
        if (disk->place_free_ns[place] < disk->place_free_ns[free])
            free = place;
    ready_ns = max_t(u64, now_ns, disk->place_free_ns[free]) + latency_ns;
    disk->moved_ns = max_t(u64, ready_ns, disk->moved_ns) + (read * per_kib >> 1);
    disk->place_free_ns[free] = disk->moved_ns;
    return disk->moved_ns;
}

#endif
