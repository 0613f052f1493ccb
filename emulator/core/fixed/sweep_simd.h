/* The hot loop: one step (a first touch) against all windows, in vector instructions.
 *
 * For a window w, let D be the distance from a page to the nearest page at or below it, on its
 * chain of ancestors, that missed, and L the distance to the nearest page below it that missed
 * at all. Both are at most w once a page is done (a hit lies within w of a miss, a miss is at
 * distance 0), and distances added are at most max_window + 1: so int16_t holds every sum
 * without saturation for windows up to 16383.
 */
#ifndef FOREREAD_SWEEP_SIMD_H
#define FOREREAD_SWEEP_SIMD_H

#include "accesses.h"

/* Slots hold one vector D each. Slot 0 is all zeros: the parent of pages that have none. */
struct step {
    uint16_t parent;   /* slot to read */
    uint16_t self;     /* slot to write, may be the same */
    uint16_t distance; /* pages to the parent; max_window + 1 where there is none */
    uint16_t gap;      /* pages to the touch before in page order; at most max_window + 1 */
    uint16_t run;      /* touches in this step; more than 1 only where all four are as below */
};

/* A run: consecutive pages, each the last child of the one before (parent and self are one slot,
 * distance and gap are 1). Then D counts up to w and starts again at 0: k touches on, it is
 * (D + k) mod (w + 1), and (D + k) / (w + 1) of them missed. */
enum { STEPS_AT_ONCE = 1024, MAX_RUN = 63 };

struct sweep {
    uint16_t *slots;      /* [tiles][n_slots][lanes] */
    uint16_t *last;       /* L: [tiles][lanes] */
    uint16_t *reach;      /* w + 1: [tiles][lanes] */
    uint16_t *reciprocal; /* 65536 / (w + 1), at most 65535: [tiles][lanes] */
    int64_t *hits;        /* [tiles][lanes] */
    int64_t *unread;      /* pages of gaps that were not loaded: [tiles][lanes] */
    size_t tiles, n_slots;
};

struct sweep_loop {
    size_t lanes; /* windows in a tile */
    void (*run)(struct sweep *sweep, const struct step *steps, size_t n);
};

/* The loop for an instruction set; NULL if this machine or build lacks it. */
const struct sweep_loop *sweep_loop_for(enum fw_isa isa);

/* Steps that fit the loops' 16-bit counters, at most STEPS_AT_ONCE. */
size_t sweep_max_steps(uint32_t max_window);

#endif
