#!/bin/sh
# Times the reading of squashfs images that are in memory: unpacking.sh FOLDER HUNDREDTHS NAME…
#
# FOLDER has the images NAME; each is mounted on FOLDER/mnt again and again, since its pages leave
# memory with the mount, for HUNDREDTHS of a second at least in each of four ways: reading a page of
# each block that compresses less (d*.head) or more (l*.head) than the median, whole blocks (*.head
# and *.rest), and nothing (empty files). Empty files make all open as many files.
#
# The time is that of the processor, of this shell and its children: a page is unpacked by the
# process that reads it. Mounts keep a board's own processes (systemd, udev) busy, too, which would
# be in the time that passes.
# Prints "kernel RELEASE", for each image "nothing|dense|light|blocks NAME PASSES HUNDREDTHS", and
# "refused NAME" for an image that the kernel does not mount.
set -eu
folder=$1 least=$2
shift 2

# now: set now to the hundredths of a second that this shell and its children have computed.
now() {
    times >"$folder/times"
    { read -r own own_kernel && read -r children children_kernel; } <"$folder/times"
    now=0
    for spent in "$own" "$own_kernel" "$children" "$children_kernel"; do # as 1m2.34s
        seconds=${spent#*m}
        part=${seconds#*.}
        part=${part%"${part#??}"}
        seconds=${seconds%%.*}
        now=$((now + ${spent%%m*} * 6000 + seconds * 100 + ${part#0}))
    done
}

mounted() { mount -t squashfs -o loop,ro "$folder/$1" "$folder/mnt" 2>/dev/null; }
# A loop device may be busy for a moment.
unmounted() { umount "$folder/mnt" 2>/dev/null || { sleep 1 && umount "$folder/mnt"; }; }

mnt=$folder/mnt
read_nothing() { cat "$mnt"/empty* "$mnt"/empty*; }
read_dense() { cat "$mnt"/d*.head "$mnt"/empty-l* "$mnt"/empty*; }
read_light() { cat "$mnt"/l*.head "$mnt"/empty-d* "$mnt"/empty*; }
# In the order of their names: the rest follows its head, while its block is in squashfs's cache.
read_blocks() { cat "$mnt"/*.*; }

# passes WAY NAME: mount NAME, read it in one way, and unmount, until time is up.
passes() {
    now
    since=$now
    count=0
    while :; do
        mounted "$2"
        "read_$1" >/dev/null
        unmounted
        count=$((count + 1))
        now
        [ $((now - since)) -lt "$least" ] || break
    done
    printf '%s %s %d %d\n' "$1" "$2" "$count" "$((now - since))"
}

mkdir -p "$mnt"
trap 'umount "$mnt" 2>/dev/null || :' EXIT
printf 'kernel %s\n' "$(uname -r)"
for image; do
    if ! mounted "$image"; then
        printf 'refused %s\n' "$image"
        continue
    fi
    unmounted
    for way in nothing dense light blocks; do
        passes "$way" "$image"
    done
done
