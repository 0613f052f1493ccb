/* Body of one kernel: included by kernels.c with KERNEL, TARGET, VECTOR, SIGNED and
 * SUBTRACT_TO_ZERO defined. No include guard: it is a template. */

TARGET static void
KERNEL(struct sweep *s, const struct step *steps, size_t n)
{
    enum { LANES = ROWS * sizeof(VECTOR) / sizeof(uint16_t) };
    for (size_t tile = 0; tile < s->tiles; tile++) {
        uint16_t *slots = s->slots + tile * s->n_slots * LANES;
        VECTOR *last_stored = (VECTOR *)(s->last + tile * LANES);
        VECTOR last[ROWS], reach[ROWS], hits[ROWS], unread[ROWS];
        for (int k = 0; k < ROWS; k++) {
            last[k] = last_stored[k];
            hits[k] = unread[k] = (VECTOR){0};
            for (size_t lane = 0; lane < LANES / ROWS; lane++) /* w + 1 */
                reach[k][lane] = (uint16_t)(tile * LANES + k * (LANES / ROWS) + lane + 1);
        }
        for (size_t i = 0; i < n; i++) {
            const VECTOR *parent = (const VECTOR *)(slots + (size_t)steps[i].parent * LANES);
            VECTOR *self = (VECTOR *)(slots + (size_t)steps[i].self * LANES);
            uint16_t distance = steps[i].distance, gap = steps[i].gap;
#pragma GCC unroll 4
            for (int k = 0; k < ROWS; k++) {
                VECTOR x = parent[k] + distance;
                VECTOR hit = (VECTOR)((SIGNED)reach[k] > (SIGNED)x);
                self[k] = x & hit;
                hits[k] -= hit;
                VECTOR since = last[k] + gap;
                unread[k] += SUBTRACT_TO_ZERO(since, reach[k]);
                last[k] = since & hit;
            }
        }
        for (int k = 0; k < ROWS; k++) {
            last_stored[k] = last[k];
            for (size_t lane = 0; lane < LANES / ROWS; lane++) {
                size_t window = tile * LANES + k * (LANES / ROWS) + lane;
                s->hits[window] += hits[k][lane];
                s->unread[window] += unread[k][lane];
            }
        }
    }
}

#undef KERNEL
#undef TARGET
#undef VECTOR
#undef SIGNED
#undef SUBTRACT_TO_ZERO
