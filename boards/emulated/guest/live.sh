#!/bin/sh
# The first process of a live board; runs in busybox ash from the initramfs, makes the slow disk the
# root and executes its init. It reports each step on the console, where the host follows the boot.
# /job/run becomes the board's /run/board.
set -u

fail() {
    echo "board: failed: $*"
    exec sleep 1000000 # a panic, if init ended, would say less
}

# mount_written: where an overlay keeps what is written: the disk that survives a restart, if the
# board has one, as the rootfs_data of routers does; else memory.
mount_written() {
    data=$(disk data)
    if [ -n "$data" ]; then
        mount -t ext4 "$data" /overlay || fail "mount -t ext4 $data"
    else
        mount -t tmpfs -o size=25% overlay /overlay
    fi
}

# mount_overlay: as routers have it: the disk's files at /rom, and what is written over them.
mount_overlay() {
    mkdir -p /rom /overlay
    mount -t "$FS" -o ro,noatime /dev/slow0 /rom || fail "mount -t $FS"
    mount_written
    mkdir -p /overlay/upper /overlay/work /overlay/upper/rom /overlay/upper/overlay
    mount -t overlay -o "lowerdir=/rom,upperdir=/overlay/upper,workdir=/overlay/work" over /root ||
        fail "mount -t overlay"
    mount --move /rom /root/rom
    mount --move /overlay /root/overlay
}

mount_root() {
    if [ -n "${OVERLAY-}" ]; then
        mount_overlay
    else
        mount -t "$FS" -o "$ROOT_OPTIONS" /dev/slow0 /root || fail "mount -t $FS -o $ROOT_OPTIONS"
    fi
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
