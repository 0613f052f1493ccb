#!/bin/sh
# Prints the cgroups that limit reads of DISK, a name in /sys/class/block.
#
# Usage: limits.sh DISK   Prints "own PATH" for each cgroup that this shell is in, and for each limit
#                         "limit MOUNTPOINT PATH FILE:LINE".
set -eu
block=/sys/class/block/$1
[ ! -e "$block/partition" ] || block=$block/..
read -r number <"$block/dev"
while IFS=: read -r _ controllers path; do
    case ,$controllers, in
    ,, | *,blkio,*) echo "own $path" ;;
    esac
done </proc/self/cgroup
while read -r _ place kind options _; do
    case $kind,$options, in
    cgroup2,* | cgroup,*,blkio,*) ;;
    *) continue ;;
    esac
    find "$place" \( -name io.max -o -name 'blkio.throttle.read_?*ps_device' \) 2>/dev/null |
        while read -r file; do
            group=${file%/*}
            # "8:0 rbps=max wbps=1000 riops=max wiops=max" does not limit reads.
            line=$(grep "^$number " "$file" 2>/dev/null) || continue
            case ${file##*/},$line in
            io.max,*rbps=max*riops=max*) continue ;;
            esac
            echo "limit $group ${group#"$place"}/ $line"
        done
done </proc/mounts
