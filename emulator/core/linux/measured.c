/* A device whose times were measured by size: emulator/devices/measured.py. */
#include "measured.h"

#include <math.h>

static const double SECTORS_PER_KIB = 2;

/* Take a table of ``n`` sizes from numbers. */
static bool
table_set(struct lx_table *table, const double *numbers, size_t n)
{
    *table = (struct lx_table){
        .kib = numbers, .latency_ns = numbers + n, .occupancy_ns = numbers + 2 * n, .n = n};
    for (size_t i = 0; i < n; i++) {
        bool rises = table->kib[i] > (i ? table->kib[i - 1] : 0) && table->kib[i] <= LX_MOST_NS;
        if (!rises || !lx_is_time(table->latency_ns[i]) || !lx_is_time(table->occupancy_ns[i]) ||
            table->latency_ns[i] <= 0 || table->occupancy_ns[i] <= 0)
            return false;
    }
    return true;
}

bool
lx_measured_set(struct lx_measured *measured, const double *numbers, size_t n)
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

double
lx_measured_submit(struct lx_measured *measured, double now_ns, struct lx_read read)
{
    bool follows = measured->began && read.sector == measured->end;
    const struct lx_table *table = follows ? &measured->sequential : &measured->random;
    double kib = (double)read.sectors / SECTORS_PER_KIB;
    measured->began = true;
    measured->end = read.sector + read.sectors;
    measured->free_ns =
        lx_later(now_ns, measured->free_ns) + table_at(table, table->occupancy_ns, kib);
    return lx_later(now_ns + table_at(table, table->latency_ns, kib), measured->free_ns);
}
