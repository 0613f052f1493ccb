/* Devices by their kind: emulator/devices. */
#include "device.h"

bool
lx_device_set(struct lx_device *device, const double *numbers, size_t n)
{
    if (!n || !(numbers[0] >= 0 && numbers[0] < LX_DEVICE_KINDS))
        return false;
    device->kind = (enum lx_device_kind)numbers[0];
    switch (device->kind) {
    case LX_FIXED:
        return lx_fixed_set(&device->fixed, numbers + 1, n - 1);
    case LX_PACED:
        return n - 1 == 7 && lx_fixed_set(&device->paced.base, numbers + 5, 3) &&
               lx_paced_set(&device->paced, numbers + 1);
    case LX_MEASURED:
        return lx_measured_set(&device->measured, numbers + 1, n - 1);
    case LX_STATEFUL:
        return lx_stateful_set(&device->stateful, numbers + 1, n - 1);
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
        return lx_measured_submit(&device->measured, now_ns, read);
    case LX_STATEFUL:
        return lx_stateful_submit(&device->stateful, now_ns, read);
    default:
        return lx_fixed_submit(&device->fixed, now_ns, read);
    }
}

bool
lx_device_copied(const struct lx_device *device)
{
    return device->kind == LX_PACED && device->paced.at_once;
}
