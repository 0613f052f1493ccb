#!/bin/sh
# The address that QEMU's user network forwards to.
[ "$1" = start ] || exit 0
ifconfig lo up
if [ -e /sys/class/net/eth0 ]; then
    ifconfig eth0 10.0.2.15 netmask 255.255.255.0 up && echo "board: network" >/dev/console
fi
