/* A device of fixed cost: emulator/devices/device.py. */
#include "fixed_cost.h"

static const double SECTORS_PER_KIB = 2;

double
lx_fixed_submit(struct lx_fixed *fixed, double now_ns, struct lx_read read)
{
    double begin = now_ns < fixed->free_ns ? fixed->free_ns + fixed->handover_ns : now_ns;
    fixed->free_ns =
        begin + (fixed->latency_ns + fixed->ns_per_kib * (double)read.sectors / SECTORS_PER_KIB);
    return fixed->free_ns;
}

bool
lx_fixed_set(struct lx_fixed *fixed, const double *numbers, size_t n)
{
    if (n != 3 || !lx_is_time(numbers[0]) || !lx_is_time(numbers[1]) || !lx_is_time(numbers[2]))
        return false;
    *fixed = (struct lx_fixed){.latency_ns = numbers[0],
                               .ns_per_kib = numbers[1],
                               .handover_ns = numbers[2],
                               .free_ns = 0};
    return true;
}
