#!/bin/sh
# Finds what to read for PLACE: a disk (its node or name), a file, or a directory. A directory means
# the disk that holds it or, if that disk cannot be opened, the largest file in the directory.
#
# Usage: place.sh PLACE      Prints "key value" lines; the last is "path", the disk or file to read.
set -eu
place=$1
[ -e "$place" ] || [ ! -b "/dev/$place" ] || place=/dev/$place

fio=$(fio --version 2>/dev/null) || fio=
printf 'fio %s\nkernel %s\n' "$fio" "$(uname -r)"

# The block device that holds a path, as its name in /sys/class/block; nothing if there is none.
disk_of() {
    node=$1
    [ -b "$node" ] || node=$(df -P -- "$1" 2>/dev/null | awk 'END { print $1 }')
    [ ! -b "$node" ] || printf '%s' "$(readlink -f -- "$node")"
}

largest_below() {
    find "$1" -xdev -type f -size +16383k -exec ls -ln -- '{}' + 2>/dev/null |
        sort -k5,5 -n -r | head -n 1 | awk '{ print $5 }' | {
        read -r bytes || exit 0
        find "$1" -xdev -type f -size "${bytes}c" 2>/dev/null | head -n 1
    }
}

node=$(disk_of "$place")
name=${node##*/}
[ -z "$name" ] || [ ! -r "/sys/class/block/$name/stat" ] || printf 'disk %s\n' "$name"
# A partition has the queue of its disk.
for queue in "/sys/class/block/$name/queue" "/sys/class/block/$name/../queue"; do
    [ -z "$name" ] || [ ! -r "$queue/max_sectors_kb" ] || {
        printf 'largest %s\n' "$(cat "$queue/max_sectors_kb")"
        break
    }
done
if [ -d "$place" ]; then
    if [ -n "$node" ] && dd if="$node" of=/dev/null bs=4096 count=1 2>/dev/null; then
        place=$node
    else
        place=$(largest_below "$place")
    fi
fi
if [ -b "$place" ]; then
    size=$(cat "/sys/class/block/$name/size" 2>/dev/null || echo 0)
    printf 'bytes %s\n' "$((size * 512))"
elif [ -f "$place" ]; then
    printf 'bytes %s\n' "$(wc -c < "$place")"
fi
[ -z "$place" ] || place=$(readlink -f -- "$place") || place=
printf 'path %s\n' "$place"
