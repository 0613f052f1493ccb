/* See stateful.h. */
#include "stateful.h"

#include <math.h>

static const uint64_t SECTORS_PER_KIB = 2;

static bool
is_count(double number, double least, double most)
{
    return number >= least && number <= most && number == floor(number);
}

bool
lx_stateful_set(struct lx_stateful *disk, const double *numbers, size_t n)
{
    if (n != LX_STATEFUL_NUMBERS)
        return false;
    const double *counts = numbers + 10;
    for (size_t i = 0; i < 10; i++)
        if (!lx_is_time(numbers[i]))
            return false;
    if (!is_count(counts[0], 1, LX_MOST_PARALLEL) || !is_count(counts[1], 0, UINT32_MAX) ||
        !is_count(counts[2], 1, LX_MOST_UNITS) || !is_count(counts[3], 0, UINT32_MAX) ||
        !is_count(counts[4], 0, UINT32_MAX))
        return false;
    *disk = (struct lx_stateful){.latency_ns = numbers[0],
                                 .ns_per_kib = numbers[1],
                                 .hit_ns = numbers[2],
                                 .hit_ns_per_kib = numbers[3],
                                 .seek_ns = numbers[4],
                                 .seek_ns_per_root = numbers[5],
                                 .slow_ns_per_kib = numbers[6],
                                 .rest_ns = numbers[7],
                                 .jitter_ns = numbers[8],
                                 .handover_ns = numbers[9],
                                 .parallel = (uint64_t)counts[0],
                                 .unit_kib = (uint64_t)counts[1],
                                 .kept_units = (uint64_t)counts[2],
                                 .fast_kib = (uint64_t)counts[3],
                                 .seed = (uint32_t)counts[4]};
    disk->random = disk->seed ? disk->seed : 1;
    return true;
}

/* StatefulQueue._jitter */
static double
jitter(struct lx_stateful *disk)
{
    if (disk->jitter_ns == 0 || !disk->seed)
        return disk->jitter_ns;
    disk->random ^= disk->random << 13;
    disk->random ^= disk->random >> 17;
    disk->random ^= disk->random << 5;
    uint64_t uniform = disk->random >> 16;
    return disk->jitter_ns * 3 * (double)(uniform * uniform >> 16) / 65536;
}

/* StatefulQueue._seek */
static double
seek(const struct lx_stateful *disk, uint64_t sector)
{
    uint64_t end = disk->began ? disk->end : 0;
    uint64_t distance = sector > end ? sector - end : end - sector;
    if (!distance && disk->began)
        return 0;
    if (sector >> LX_FILE_BITS != end >> LX_FILE_BITS)
        return disk->seek_ns;
    return disk->seek_ns +
           disk->seek_ns_per_root * floor(sqrt((double)(distance / SECTORS_PER_KIB)));
}

/* Keep a unit; whether the disk had it. */
static bool
keep(struct lx_stateful *disk, uint64_t number)
{
    struct lx_kept_unit *oldest = disk->units;
    for (struct lx_kept_unit *unit = disk->units; unit < disk->units + disk->kept_units; unit++) {
        if (unit->used && unit->number == number) {
            unit->used = ++disk->clock;
            return true;
        }
        if (unit->used < oldest->used)
            oldest = unit;
    }
    *oldest = (struct lx_kept_unit){.number = number, .used = ++disk->clock};
    return false;
}

/* StatefulQueue._units_read */
static uint64_t
units_read(struct lx_stateful *disk, struct lx_read read)
{
    uint64_t unit = disk->unit_kib * SECTORS_PER_KIB, missing = 0;
    uint64_t last = (read.sector + read.sectors - 1) / unit;
    for (uint64_t number = read.sector / unit; read.sectors && number <= last; number++)
        missing += !keep(disk, number);
    return missing;
}

double
lx_stateful_submit(struct lx_stateful *disk, double now_ns, struct lx_read read)
{
    uint64_t moved = read.sectors;
    double latency = disk->latency_ns, per_kib = disk->ns_per_kib;
    if (now_ns >= disk->moved_ns + disk->rest_ns)
        disk->sectors = 0;
    if (disk->unit_kib)
        moved = units_read(disk, read) * disk->unit_kib * SECTORS_PER_KIB;
    if (moved) {
        if (disk->fast_kib && disk->sectors >= disk->fast_kib * SECTORS_PER_KIB)
            per_kib = disk->slow_ns_per_kib;
        latency += seek(disk, read.sector);
    } else {
        latency = disk->hit_ns;
        per_kib = disk->hit_ns_per_kib;
        moved = read.sectors;
    }
    latency += jitter(disk);
    disk->end = read.sector + read.sectors;
    disk->began = true;
    disk->sectors += moved;
    double *place = disk->free_ns;
    for (double *other = disk->free_ns; other < disk->free_ns + disk->parallel; other++)
        if (*other < *place)
            place = other;
    double begin = now_ns < *place ? *place + disk->handover_ns : now_ns;
    disk->moved_ns = lx_later(begin + latency, disk->moved_ns) +
                     (double)moved * per_kib / (double)SECTORS_PER_KIB;
    *place = disk->moved_ns;
    return disk->moved_ns;
}
