#!/bin/sh
# The guest's side of record.py: blktrace of one cold read, at the window that the kernel gives.
set -u
export PATH=/bin LD_LIBRARY_PATH=/lib

# disk SERIAL: print the device node of the virtio disk with that serial.
disk() {
    for candidate in /sys/block/vd*; do
        [ "$(cat "$candidate/serial")" != "$1" ] || echo "/dev/${candidate##*/}"
    done
}

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t debugfs debug /sys/kernel/debug
mount -t devtmpfs dev /dev
mount -t tmpfs out /out
while read -r module; do
    insmod "/modules/$module"
done </modules/order
uname -srvm >/out/uname
cd /out || exit
blktrace -d "$(disk image)" -o start >/out/said 2>&1 &
tracer=$!
sleep 2
mount -t ext4 -o ro "$(disk image)" /app
cat /app/data >/dev/null
cat "/sys/block/$(disk image | cut -c 6-)/queue/read_ahead_kb" >/out/read_ahead_kb
sleep 2
kill -INT $tracer
wait $tracer
cat /out/said
tar -cf "$(disk result)" .
sync
reboot -f
