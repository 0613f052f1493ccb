#!/bin/sh
# Copy the slow disk, whose file system is read-only by now, back to the disk it was filled from;
# the next boot fills it from there again.
for candidate in /sys/block/vd*; do
    if [ "$(cat "$candidate/serial")" = image ] && [ "$(cat "$candidate/ro")" = 0 ]; then
        for cost in /sys/module/slowdisk/parameters/*_ns /sys/module/slowdisk/parameters/*ns_per_*; do
            echo 0 >"$cost" 2>/dev/null || : # now_ns is only read
        done
        echo 1 >/proc/sys/vm/drop_caches
        dd if=/dev/slow0 of="/dev/${candidate##*/}" bs=1M 2>/dev/null || echo "board: not saved" >/dev/console
        sync
    fi
done
