/* A disk whose requests cost more or less after others: emulator/devices/stateful.py. */
#ifndef LX_STATEFUL_H
#define LX_STATEFUL_H

#include "fixed_cost.h"

enum { LX_STATEFUL_NUMBERS = 15, LX_MOST_PARALLEL = 32, LX_MOST_UNITS = 256 };
/* Bits of a sector; those above them number files whose places are unknown. */
enum { LX_FILE_BITS = 40 };

struct lx_kept_unit {
    uint64_t number, used; /* ``used``: 0 for none */
};

struct lx_stateful {
    double latency_ns, ns_per_kib, hit_ns, hit_ns_per_kib, seek_ns, seek_ns_per_root;
    double slow_ns_per_kib, rest_ns, jitter_ns, handover_ns;
    uint64_t parallel, unit_kib, kept_units, fast_kib;
    uint32_t seed, random;
    double free_ns[LX_MOST_PARALLEL], moved_ns;
    uint64_t end, sectors, clock;
    bool began; /* there is an ``end`` */
    struct lx_kept_unit units[LX_MOST_UNITS];
};

/* Numbers as emulator/linux/timed_windows.py has them; false: one is out of range. */
bool lx_stateful_set(struct lx_stateful *disk, const double *numbers, size_t n);
double lx_stateful_submit(struct lx_stateful *disk, double now_ns, struct lx_read read);

#endif
