#!/bin/sh
# The first process of an emulated board; runs in busybox ash from the initramfs.
# /job/settings describes the job; the results are written as a tar archive to the disk with serial
# "result". Its member "end" proves that the archive is complete.
set -u

fail() {
    echo "$*" >/out/failed
    finish
}

finish() {
    cd /out && : >end
    tar -cf "$(disk result)" . 2>/out/tar
    sync
    reboot -f # QEMU is configured to exit on it: unlike power-off it works on every machine
}

mount_application() {
    if [ -n "${OVERLAY-}" ]; then
        mkdir -p /rom /up
        mount -t "$FS" -o ro /dev/slow0 /rom || fail "mount -t $FS"
        mount -t tmpfs up /up && mkdir /up/upper /up/work
        mount -t overlay -o lowerdir=/rom,upperdir=/up/upper,workdir=/up/work over /app ||
            fail "mount -t overlay"
    else
        mount -t "$FS" -o ro /dev/slow0 /app || fail "mount -t $FS"
    fi
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
# shellcheck source=boards/emulated/guest/lib.sh
. /lib.sh
mount_kernel_file_systems
mount -t tmpfs -o size=16m out /out
# shellcheck source=/dev/null
. /job/settings
stat=/sys/block/slow0/stat
clock=/sys/module/slowdisk/parameters/now_ns

load_modules disks
[ ! -e /modules/more ] || load_modules more
fill_slow_disk
set_cost
mount_application
# The first run after a mount reads metadata that later ones find in memory.
run discarded >/dev/null
run discarded >/dev/null
run_all
finish
