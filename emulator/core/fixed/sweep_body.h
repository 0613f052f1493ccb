/* One loop: included by sweep_simd.c with ISA, TARGET, VECTOR, SIGNED, SUBTRACT_TO_ZERO and
 * MULTIPLY_HIGH defined. No include guard: it is a template. */

#define JOIN_(part, isa) part##_##isa
#define JOIN(part, isa) JOIN_(part, isa)
#define NAME(part) JOIN(part, ISA)
#define INLINE TARGET static inline __attribute__((always_inline))

enum { NAME(WIDTH) = sizeof(VECTOR) / sizeof(uint16_t), NAME(LANES) = ROWS * NAME(WIDTH) };

/* A tile's state that stays in registers over all steps. */
struct NAME(tile) {
    VECTOR last[ROWS], hits[ROWS], unread[ROWS];
};

/* One touch: x is the distance to the nearest missed ancestor. */
INLINE void
NAME(touch)(struct NAME(tile) * t, const VECTOR *reach, const VECTOR *parent, VECTOR *self,
            const struct step *step)
{
    uint16_t distance = step->distance, gap = step->gap;
#pragma GCC unroll 4
    for (int k = 0; k < ROWS; k++) {
        VECTOR x = parent[k] + distance;
        VECTOR hit = (VECTOR)((SIGNED)reach[k] > (SIGNED)x);
        self[k] = x & hit;
        t->hits[k] -= hit;
        VECTOR since = t->last[k] + gap;
        t->unread[k] += SUBTRACT_TO_ZERO(since, reach[k]);
        t->last[k] = since & hit;
    }
}

/* A run in closed form. The quotient is exact or one too small at first, since x < 65536. */
INLINE void
NAME(run)(struct NAME(tile) * t, const VECTOR *reach, const VECTOR *reciprocal, VECTOR *self,
          uint16_t run)
{
#pragma GCC unroll 4
    for (int k = 0; k < ROWS; k++) {
        VECTOR x = self[k] + run;
        VECTOR misses = MULTIPLY_HIGH(x, reciprocal[k]);
        VECTOR rest = x - misses * reach[k];
        VECTOR too_small = ~(VECTOR)((SIGNED)reach[k] > (SIGNED)rest);
        misses -= too_small;
        rest -= too_small & reach[k];
        VECTOR no_miss = (VECTOR)(misses == 0);
        self[k] = rest;
        t->hits[k] += run - misses;
        t->last[k] = ((t->last[k] + run) & no_miss) | (rest & ~no_miss);
    }
}

INLINE void
NAME(steps)(struct NAME(tile) * t, const struct sweep *s, size_t at, const struct step *steps,
            size_t n)
{
    uint16_t *slots = s->slots + at * s->n_slots;
    const VECTOR *reach = (const VECTOR *)(s->reach + at);
    const VECTOR *reciprocal = (const VECTOR *)(s->reciprocal + at);
    for (size_t i = 0; i < n; i++) {
        const VECTOR *parent = (const VECTOR *)(slots + steps[i].parent * (size_t)NAME(LANES));
        VECTOR *self = (VECTOR *)(slots + steps[i].self * (size_t)NAME(LANES));
        if (steps[i].run > 1)
            NAME(run)(t, reach, reciprocal, self, steps[i].run);
        else
            NAME(touch)(t, reach, parent, self, &steps[i]);
    }
}

TARGET static void
NAME(loop)(struct sweep *s, const struct step *steps, size_t n)
{
    for (size_t at = 0; at < s->tiles * NAME(LANES); at += NAME(LANES)) {
        VECTOR *last = (VECTOR *)(s->last + at);
        struct NAME(tile) t = {0};
        for (int k = 0; k < ROWS; k++)
            t.last[k] = last[k];
        NAME(steps)(&t, s, at, steps, n);
        for (size_t k = 0; k < ROWS; k++) {
            last[k] = t.last[k];
            for (size_t lane = 0; lane < NAME(WIDTH); lane++) {
                s->hits[at + k * NAME(WIDTH) + lane] += t.hits[k][lane];
                s->unread[at + k * NAME(WIDTH) + lane] += t.unread[k][lane];
            }
        }
    }
}

#undef ISA
#undef TARGET
#undef VECTOR
#undef SIGNED
#undef SUBTRACT_TO_ZERO
#undef MULTIPLY_HIGH
#undef JOIN_
#undef JOIN
#undef NAME
#undef INLINE
