/* The cost of the slow disk's requests for this machine: slowdisk/cost.h without a kernel. */
#include <stdbool.h>
#include <stdint.h>

typedef uint32_t u32;
typedef uint64_t u64;
#define clamp_t(type, value, low, high)                                                            \
    ((type)(value) < (low) ? (low) : (type)(value) > (high) ? (high) : (type)(value))
#define max_t(type, one, other) ((type)(one) > (type)(other) ? (type)(one) : (type)(other))

static u64
div_u64(u64 number, u32 by)
{
    return number / by;
}

static u32
int_sqrt(unsigned long number)
{
    u32 root = 0;
    while ((u64)(root + 1) * (root + 1) <= number)
        root++;
    return root;
}

#include "cost.h"

/* Serve requests in order; ``costs`` are the members of struct disk_costs. */
void
serve(const u32 *costs, unsigned requests, const u64 *now_ns, const u64 *sector, const u32 *sectors,
      u64 *done_ns)
{
    static struct disk_state state;
    const struct disk_costs *disk = (const struct disk_costs *)costs;
    disk_forget(&state, disk->seed);
    for (unsigned row = 0; row < requests; row++)
        done_ns[row] = disk_submit(disk, &state, now_ns[row], sector[row], sectors[row]);
}
