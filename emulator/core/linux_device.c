/* How long a device takes to serve requests: the queues of emulator/device.py. */
#include "linux_disk.h"

#include <math.h>

static const size_t NUMBERS[LX_DEVICE_KINDS] = {
    [LX_FIXED] = 2,
};

int
lx_device_set(struct lx_device *device, const double *numbers, size_t n)
{
    if (!n || !(numbers[0] >= 0 && numbers[0] < LX_DEVICE_KINDS))
        return LX_BAD_DEVICE;
    enum lx_device_kind kind = (enum lx_device_kind)numbers[0];
    if (n - 1 != NUMBERS[kind])
        return LX_BAD_DEVICE;
    for (size_t i = 1; i < n; i++)
        if (!(numbers[i] >= 0 && isfinite(numbers[i])))
            return LX_BAD_DEVICE;
    *device = (struct lx_device){.kind = kind, .numbers = numbers + 1};
    return LX_OK;
}

static double
fixed_submit(struct lx_device *device, double now_ns, struct lx_read read)
{
    double latency_ns = device->numbers[0], ns_per_kib = device->numbers[1];
    device->free_ns =
        fmax(now_ns, device->free_ns) + (latency_ns + ns_per_kib * (double)read.sectors / 2);
    return device->free_ns;
}

double
lx_device_submit(struct lx_device *device, double now_ns, struct lx_read read)
{
    return fixed_submit(device, now_ns, read);
}
