#!/bin/sh
# The start-up of a live board; the image may add S??* scripts.
mount -t tmpfs -o mode=1777 tmp /tmp
mkdir -p /dev/pts /dev/shm
mount -t devpts -o gid=5,mode=620 devpts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
hostname -F /etc/hostname
[ ! -e /swapfile ] || swapon /swapfile
for script in /etc/init.d/S??*; do
    [ ! -x "$script" ] || "$script" start
done
