# The common part of both first processes (init.sh, live.sh): load modules, fill the slow disk.
# They define fail; /job/settings gives the disk's cost.
# shellcheck shell=sh

# disk SERIAL: print the device node of the virtio disk with that serial.
disk() {
    for candidate in /sys/block/vd*; do
        [ "$(cat "$candidate/serial")" != "$1" ] || echo "/dev/${candidate##*/}"
    done
}

mount_kernel_file_systems() {
    mount -t proc proc /proc
    mount -t sysfs sys /sys
    mount -t devtmpfs dev /dev
}

# load_modules LIST: in the order of the list, where dependencies come first.
load_modules() {
    while read -r module; do
        insmod "/modules/$module" || fail "insmod $module"
    done <"/modules/$1"
}

# The image is copied into memory once, at no cost, before any timing.
fill_slow_disk() {
    image=$(disk image)
    sectors=$(cat "/sys/block/${image##*/}/size")
    insmod /modules/slowdisk.ko size_kib=$((sectors / 2)) scratch_kib="${SCRATCH_KIB:-0}" \
        queue_depth="${QUEUE_DEPTH:-1}" || fail "insmod slowdisk: out of memory?"
    said=$(dd if="$image" of=/dev/slow0 bs=1M 2>&1) || fail "filling the slow disk: $said"
    sync
}

# From now on requests have their cost; COSTS are those of another kind of disk.
set_cost() {
    for one in latency_ns="$LATENCY_NS" ns_per_kib="$NS_PER_KIB" ${COSTS:-}; do
        echo "${one#*=}" >"/sys/module/slowdisk/parameters/${one%%=*}"
    done
}
