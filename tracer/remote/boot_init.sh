#!/bin/sh
# Stands in for the init program over one boot, for `foreread record --boot --from init`: mounts what
# a recorder needs, has the hook (boot_hook.sh) record from here on, and executes the real init.
#
# It is process 1, which must never end: another process does all work, within limit_s, and init is
# executed whatever becomes of that. Before the hook records, it puts the init program back in its
# place: a boot that hangs, or a power cut, is followed by a boot as usual.
here=/etc/foreread-boot
beside=${0%/*}/.foreread-init # has the init program under its own name, which busybox needs
limit_s=90

is_mounted() {
    [ -r /proc/mounts ] || return 1
    while read -r _ point _; do
        [ "$point" != "$1" ] || return 0
    done </proc/mounts
    return 1
}

# provide TYPE PLACE [OPTIONS]: mount it, unless something is mounted there.
provide() {
    is_mounted "$2" || mount -t "$1" -o "${3:-rw}" "$1" "$2"
}

# provide_all: systemd keeps a /run and a tracefs that it finds; another init may mount a /run of its
# own over the recording, so that gets its own place.
provide_all() {
    provide proc /proc
    provide sysfs /sys
    [ -c /dev/null ] || provide devtmpfs /dev
    if [ -d "$here/memory" ]; then
        provide tmpfs "$here/memory" mode=700
    else
        provide tmpfs /run mode=755,nosuid,nodev
        provide tracefs /sys/kernel/tracing
    fi
}

# watch PID: end a process that is too slow.
watch() {
    trap 'kill "$!"; exit' TERM
    sleep "$limit_s" &
    wait
    kill -9 "$1"
}

PATH=/usr/sbin:/usr/bin:/sbin:/bin
if [ "$$" = 1 ] && [ -e "$here/armed" ]; then
    (provide_all)
    if [ -c /dev/null ]; then # a shell gives it to what runs in the background
        sh "$here/hook" start &
        recorder=$!
        watch "$recorder" &
        watch=$!
        wait "$recorder"
        kill "$watch"
    else
        sh "$here/hook" disarm
    fi
fi
for init in "$beside/${0##*/}" "$0"; do
    [ ! -x "$init" ] || exec "$init" "$@"
done
