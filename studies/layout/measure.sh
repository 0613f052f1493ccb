#!/bin/sh
# Run commands cold in an image on a board: measure.sh BUSYBOX DEVICE TYPE OTHERS COMMAND…
#
# Each argument COMMAND is one command, its words separated by tabs, the first an absolute path in
# the image. The image is mounted anew for each. squashfs keeps metadata and fragments in caches of
# its own, which dropping the page cache leaves as they are; so the files OTHERS (paths in the image,
# separated by tabs), which no command reads, are read before, as after a boot. BUSYBOX lies in
# memory, so that nothing else is read. Prints "empty NANOSECONDS", the time of a command that does
# nothing, and for each command "NANOSECONDS REQUESTS SECTORS".
set -eu
box=$1 device=$2 type=$3 others=$4
shift 4
place=/run/image
stat=/sys/block/${device##*/}/stat

# nanoseconds: set now to those since boot. A fork of date would read files.
nanoseconds() {
    while IFS=" " read -r first second now _; do
        [ "$first $second" != "now at" ] || break
    done </proc/timer_list
}

counted() { IFS=" " read -r requests _ sectors _ <"$stat"; }

cold() {
    for other in $others; do
        "$box" cat "$place/$other"
    done >/dev/null
    "$box" sync
    echo 3 >/proc/sys/vm/drop_caches
}

left() {
    for folder in dev proc tmp; do
        "$box" umount "$place/$folder" 2>/dev/null || :
    done
    "$box" umount "$place" 2>/dev/null || :
}

IFS="$(printf "\t")"
"$box" mkdir -p "$place"
trap left EXIT
for _ in 1 2 3; do
    nanoseconds
    before=$now
    "$box" true </dev/null >/dev/null 2>&1
    nanoseconds
done
echo "empty $((now - before))" # of the third: what the first reads is in memory by then
for command; do
    "$box" mount -t "$type" -o ro "$device" "$place"
    "$box" mount --bind /dev "$place/dev"
    "$box" mount -t proc proc "$place/proc"
    "$box" mount -t tmpfs tmpfs "$place/tmp"
    cold
    counted
    before_requests=$requests before_sectors=$sectors
    nanoseconds
    before=$now
    # shellcheck disable=SC2086 # words
    "$box" chroot "$place" $command </dev/null >/dev/null 2>&1 || echo "exit status $?" >&2
    nanoseconds
    counted
    echo "$((now - before)) $((requests - before_requests)) $((sectors - before_sectors))"
    left
done
