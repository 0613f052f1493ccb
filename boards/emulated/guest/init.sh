#!/bin/sh
# The first process of an emulated board; runs in busybox ash from the initramfs.
# /job/settings gives what to do; what came of it is written as a tar archive to the disk whose
# serial is "result", and its member "end" proves that the archive is whole.
set -u

fail() {
    echo "$*" >/out/failed
    finish
}

finish() {
    cd /out && : >end
    tar -cf "$(disk result)" . 2>/out/tar
    sync
    reboot -f # QEMU is told to end on it: unlike power-off it works on every machine
}

# disk SERIAL: print the device node of the virtio disk with that serial.
disk() {
    for candidate in /sys/block/vd*; do
        [ "$(cat "$candidate/serial")" != "$1" ] || echo "/dev/${candidate##*/}"
    done
}

load_modules() {
    while read -r module; do
        insmod "/modules/$module" || fail "insmod $module"
    done </modules/order
}

# The image goes through memory once, at no cost, before anything is timed.
fill_slow_disk() {
    image=$(disk image)
    sectors=$(cat "/sys/block/${image##*/}/size")
    insmod /modules/slowdisk.ko size_kib=$((sectors / 2)) || fail "insmod slowdisk: out of memory?"
    dd if="$image" of=/dev/slow0 bs=1M 2>/out/dd || fail "filling the slow disk: $(cat /out/dd)"
    sync
    echo "$LATENCY_NS" >/sys/module/slowdisk/parameters/latency_ns
    echo "$NS_PER_KIB" >/sys/module/slowdisk/parameters/ns_per_kib
}

mount_application() {
    mount -t "$FS" -o ro /dev/slow0 /app || fail "mount -t $FS"
    mount -t proc proc /app/proc
    mount -t devtmpfs dev /app/dev
    mount -t tmpfs tmp /app/tmp
}

# run READ_AHEAD_KB: one cold run; prints window, exit status, begin, end, disk statistics.
run() {
    echo 3 >/proc/sys/vm/drop_caches
    read -r requests_a _ sectors_a _ <"$stat"
    read -r begin <"$clock"
    sh /job/command </dev/null >/out/stdout 2>/out/stderr
    status=$?
    read -r end <"$clock"
    read -r requests_b _ sectors_b _ <"$stat"
    echo "$1 $status $begin $end $((requests_b - requests_a)) $((sectors_b - sectors_a))"
}

run_all() {
    for kb in $WINDOWS; do
        echo "$kb" >/sys/block/slow0/queue/read_ahead_kb || fail "read_ahead_kb $kb refused"
        n=0
        while [ "$n" -lt "$REPEAT" ]; do
            run "$kb" >>/out/runs
            n=$((n + 1))
        done
    done
}

export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs -o size=16m out /out
# shellcheck source=/dev/null
. /job/settings
stat=/sys/block/slow0/stat
clock=/sys/module/slowdisk/parameters/now_ns

load_modules
fill_slow_disk
mount_application
# Runs right after a mount still read metadata that later ones find in memory.
run discarded >/dev/null
run discarded >/dev/null
run_all
finish
