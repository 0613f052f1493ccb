#!/bin/sh
# The first process of a live board; runs in busybox ash from the initramfs, makes the slow disk the
# root and executes its init. It reports each step on the console, where the host follows the boot.
# /job/run becomes the board's /run/board.
set -u

fail() {
    echo "board: failed: $*"
    exec sleep 1000000 # a panic, if init ended, would say less
}

mount_root() {
    mount -t "$FS" -o "$ROOT_OPTIONS" /dev/slow0 /root || fail "mount -t $FS -o $ROOT_OPTIONS"
    mount -t tmpfs -o mode=755,size=10% run /root/run
    cp -r /job/run /root/run/board
    for folder in dev proc sys; do
        mount --move "/$folder" "/root/$folder"
    done
}

export PATH=/bin
# shellcheck source=boards/emulated/guest/lib.sh
. /lib.sh
# shellcheck source=/dev/null
. /job/settings

mount_kernel_file_systems
echo "board: modules"
load_modules disks
load_modules others
[ ! -e /modules/more ] || load_modules more
echo "board: slow disk"
fill_slow_disk
set_cost
echo "board: root"
mount_root
echo "board: init"
exec switch_root /root /sbin/init
