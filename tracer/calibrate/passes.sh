#!/bin/sh
# What unpacking.sh and erofs_unpacking.sh share, which follow it in one text: … FOLDER HUNDREDTHS NAME…
#
# FOLDER has the images NAME; each is mounted on FOLDER/mnt again and again, since its pages leave
# memory with the mount, for HUNDREDTHS of a second at least.
#
# The time is that of the processor. The time that passes would have that of the board's own
# processes (systemd, udev), too, which each mount keeps busy.
# Prints "kernel RELEASE".
set -eu
folder=$1 least=$2
shift 2

# computed: set now to the hundredths of a second that this shell and its children have computed.
computed() {
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

# mounted TYPE NAME
mounted() { mount -t "$1" -o loop,ro "$folder/$2" "$folder/mnt" 2>/dev/null; }
# A loop device may be busy for a moment.
unmounted() { umount "$folder/mnt" 2>/dev/null || { sleep 1 && umount "$folder/mnt"; }; }

# reads WAY: read what is mounted in one way (read_WAY FOLDER).
reads() { "read_$1" "$folder/mnt" >/dev/null; }

# passes TYPE WAY NAME: mount NAME, read it in one way, and unmount, until time is up; spent sets now.
# Prints "WAY NAME PASSES HUNDREDTHS".
passes() {
    spent
    since=$now
    count=0
    while :; do
        mounted "$1" "$3"
        reads "$2"
        unmounted
        count=$((count + 1))
        spent
        [ $((now - since)) -lt "$least" ] || break
    done
    printf '%s %s %d %d\n' "$2" "$3" "$count" "$((now - since))"
}

mkdir -p "$folder/mnt"
trap 'umount "$folder/mnt" 2>/dev/null || :' EXIT
printf 'kernel %s\n' "$(uname -r)"
