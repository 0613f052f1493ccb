/* Devices of fixed cost, and measured ones: emulator/device.py and measured.py. */
#include "linux_device.h"

#include <math.h>

static const double SECTORS_PER_KIB = 2;

static bool
is_time(double ns)
{
    return ns >= 0 && ns <= LX_MOST_NS;
}

double
lx_fixed_submit(struct lx_fixed *fixed, double now_ns, struct lx_read read)
{
    double begin = now_ns < fixed->free_ns ? fixed->free_ns + fixed->handover_ns : now_ns;
    fixed->free_ns =
        begin + (fixed->latency_ns + fixed->ns_per_kib * (double)read.sectors / SECTORS_PER_KIB);
    return fixed->free_ns;
}

static bool
fixed_set(struct lx_fixed *fixed, const double *numbers, size_t n)
{
    if (n != 3 || !is_time(numbers[0]) || !is_time(numbers[1]) || !is_time(numbers[2]))
        return false;
    *fixed = (struct lx_fixed){numbers[0], numbers[1], numbers[2], 0};
    return true;
}

/* Take a table of ``n`` sizes from numbers. */
static bool
table_set(struct lx_table *table, const double *numbers, size_t n)
{
    *table = (struct lx_table){numbers, numbers + n, numbers + 2 * n, n};
    for (size_t i = 0; i < n; i++) {
        bool rises = table->kib[i] > (i ? table->kib[i - 1] : 0) && table->kib[i] <= LX_MOST_NS;
        if (!rises || !is_time(table->latency_ns[i]) || !is_time(table->occupancy_ns[i]) ||
            table->latency_ns[i] <= 0 || table->occupancy_ns[i] <= 0)
            return false;
    }
    return true;
}

static bool
measured_set(struct lx_measured *measured, const double *numbers, size_t n)
{
    *measured = (struct lx_measured){0};
    if (n < 2 || !(numbers[0] >= 1 && numbers[0] < (double)n) ||
        !(numbers[1] >= 1 && numbers[1] < (double)n))
        return false;
    size_t random = (size_t)numbers[0], sequential = (size_t)numbers[1];
    return 2 + 3 * (random + sequential) == n &&
           table_set(&measured->random, numbers + 2, random) &&
           table_set(&measured->sequential, numbers + 2 + 3 * random, sequential);
}

/* Table.at */
static double
table_at(const struct lx_table *table, const double *values, double kib)
{
    size_t row = 0, last = table->n - 1;
    while (row <= last && table->kib[row] < kib)
        row++;
    if (row == 0)
        return values[0];
    if (row > last)
        return values[last] * kib / table->kib[last];
    double low = table->kib[row - 1], high = table->kib[row];
    double share = log(kib / low) / log(high / low);
    return exp(log(values[row - 1]) * (1 - share) + log(values[row]) * share);
}

static double
measured_submit(struct lx_measured *measured, double now_ns, struct lx_read read)
{
    bool follows = measured->began && read.sector == measured->end;
    const struct lx_table *table = follows ? &measured->sequential : &measured->random;
    double kib = (double)read.sectors / SECTORS_PER_KIB;
    measured->began = true;
    measured->end = read.sector + read.sectors;
    measured->free_ns = fmax(now_ns, measured->free_ns) + table_at(table, table->occupancy_ns, kib);
    return fmax(now_ns + table_at(table, table->latency_ns, kib), measured->free_ns);
}

bool
lx_device_set(struct lx_device *device, const double *numbers, size_t n)
{
    if (!n || !(numbers[0] >= 0 && numbers[0] < LX_DEVICE_KINDS))
        return false;
    device->kind = (enum lx_device_kind)numbers[0];
    switch (device->kind) {
    case LX_FIXED:
        return fixed_set(&device->fixed, numbers + 1, n - 1);
    case LX_PACED:
        return n - 1 == 7 && fixed_set(&device->paced.base, numbers + 5, 3) &&
               lx_paced_set(&device->paced, numbers + 1);
    case LX_MEASURED:
        return measured_set(&device->measured, numbers + 1, n - 1);
    default:
        return false;
    }
}

double
lx_device_submit(struct lx_device *device, double now_ns, struct lx_read read)
{
    switch (device->kind) {
    case LX_PACED:
        return lx_paced_submit(&device->paced, now_ns, read);
    case LX_MEASURED:
        return measured_submit(&device->measured, now_ns, read);
    default:
        return lx_fixed_submit(&device->fixed, now_ns, read);
    }
}
