#!/bin/sh
# Records one boot of this board for `foreread record --boot`. It acts once: before it does anything
# else it removes the file that arms it, and it does nothing if that file cannot be removed. A boot
# that hangs, or a power cut, is followed by a boot as usual.
#
#   hook start    by init, as early as possible: record this boot, if armed
#   hook done     by init, last: the boot is over
#   hook arm      record the next boot, if it comes within five minutes
#   hook disarm   record no boot
#   hook remove   remove every file of the hook
#
# With --from init, boot_init.sh stands in for the init program and calls "hook start".
#
# The file "paths" beside it sets: token (of the job), armed (the file that arms it), links (what
# init runs), folders (made for them), init (the program that boot_init.sh stands in for), watch_s
# (how long a boot waits for the recorder).
set -u
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
here=/etc/foreread-boot
services=/sys/fs/cgroup/system.slice/cgroup.freeze
newline='
'

token='' armed=$here/armed links='' folders='' init='' watch_s=60
# shellcheck source=/dev/null
[ ! -r "$here/paths" ] || . "$here/paths"
beside=${init%/*}/.foreread-init
before=${init%/*}/.${init##*/}.foreread-before
[ ! -d "$here/memory" ] || export foreread_places="$here/memory"

# give_up WHY: the boot goes on unrecorded; the host looks for this line.
give_up() {
    { echo "<4>foreread: this boot is not recorded: $1" >/dev/kmsg; } 2>/dev/null
    exit 0
}

# note_reads: set reads to what the disks have read since the kernel started: NAME REQUESTS SECTORS.
note_reads() {
    reads=''
    for stat in /sys/block/*/stat; do
        { read -r requests _ sectors _ <"$stat"; } 2>/dev/null || continue
        disk=${stat%/stat}
        [ "$requests" = 0 ] || reads="$reads${disk##*/} $requests $sectors$newline"
    done
}

# hold_services: systemd starts others beside the hook. What they did while the recorder gets ready
# would not be in the recording, so they are frozen for that time (Linux 5.2, cgroup version 2).
hold_services() {
    [ -n "${INVOCATION_ID-}" ] && [ -w "$services" ] || return 0
    echo $$ >/sys/fs/cgroup/cgroup.procs || return 0 # else the hook would freeze, too
    trap let_services_go EXIT
    trap 'exit 1' HUP INT TERM
    echo 1 >"$services"
} 2>/dev/null

let_services_go() {
    [ -z "${INVOCATION_ID-}" ] || [ ! -w "$services" ] || echo 0 >"$services"
} 2>/dev/null

start() {
    [ -e "$armed" ] || exit 0
    hold_services
    # What runs on must not hold the output that an init may read to its end.
    [ ! -e /dev/null ] || exec </dev/null >/dev/null 2>&1
    note_reads
    armed_in=''
    read -r armed_in _ <"$armed"
    disarm || disarm_read_only
    [ ! -e "$armed" ] || give_up "$armed cannot be removed: the disk is read-only this early"
    { read -r this </proc/sys/kernel/random/boot_id; } 2>/dev/null ||
        give_up '/proc is not mounted this early'
    [ "$armed_in" != "$this" ] || give_up 'the board has not restarted'
    said=$(sh "$here/place.sh" "$token" 2>&1) || give_up "${said#error }"
    job=${said#place }
    job=${job%%"$newline"*}
    umask 077
    if ! cp "$here/job.sh" "$here/settings" "$job" || ! mkfifo "$job/begun"; then
        rm -rf "$job"
        give_up "$job is full"
    fi
    exec 8<>"$job/begun"
    printf '%s' "$reads" >"$job/read_before"
    record &
    read -r said <&8
    [ "$said" = begun ] || give_up "the recorder did not start ($said)"
    read -r marks _ <"$job/pair"
    echo start >"$marks/trace_marker"
}

disarm() {
    rm -f "$armed" && put_init_back
    sync
    [ ! -e "$armed" ]
} 2>/dev/null

# disarm_read_only: the first process finds the root as the kernel has mounted it, often read-only.
disarm_read_only() {
    [ -n "$init" ] && mount -o remount,rw / || return
    disarm
    mount -o remount,ro /
} 2>/dev/null

# put_init_back: what it replaces is still in use, and has another link in $beside: a file without
# a name would keep the root from being read-only again.
put_init_back() {
    [ -n "$init" ] && { [ -h "$before" ] || [ -e "$before" ]; } || return 0
    mv -f "$before" "$init" && rm -f "$before"
}

# record: own the recording until the host has it, then remove everything.
record() {
    (
        sleep "$watch_s" &
        echo "$!" >"$job/sleeper"
        wait
        let_services_go
        echo late >&8
    ) &
    watch=$!
    echo "$watch" >"$job/watch"
    sh "$job/job.sh" - boot >"$job/log" 2>&1
    echo over >&8
    kill "$watch"
    [ ! -e "$job/job.sh" ] || sh "$job/job.sh" - finish
    remove
}

# Nothing here starts a program: it would be part of the boot that is recorded.
boot_done() {
    for place in ${foreread_places:-/run /dev/shm /tmp /var/run /var/tmp}; do
        job=$place/foreread-$token
        { read -r marks instance <"$job/pair"; } 2>/dev/null || continue
        [ -p "$job/ends" ] || continue
        echo end >"$marks/trace_marker"
        echo 0 >"$instance/tracing_on"
        exec 8<>"$job/ends"
        echo boot-done >&8
    done
}

arm() {
    read -r this </proc/sys/kernel/random/boot_id || exit 1
    echo "$this $$" >"$armed" && sync || exit 1
    (
        trap '' HUP
        sleep 300
        read -r _ by <"$armed" && [ "$by" = $$ ] || exit
        rm -f "$armed"
        sync
    ) </dev/null >/dev/null 2>&1 &
}

# remove: the file that arms it first, the list of paths last: what a power cut leaves does nothing,
# and is removed by another try.
remove() {
    rm -f "$armed"
    put_init_back || exit 1
    sync
    if [ -e "$here/inittab.before" ]; then
        put_inittab_back || exit 1
    fi
    for path in $links; do
        rm -f "$path" || exit 1
    done
    for path in $folders; do
        rmdir "$path"
    done
    [ -z "$init" ] || rm -rf "$beside" || exit 1
    leave_memory
    rm -rf "$here" || exit 1
    sync
} 2>/dev/null

# leave_memory: end what still records there, and unmount it.
leave_memory() {
    for job in "$here"/memory/foreread-*/job.sh; do
        [ ! -e "$job" ] || sh "$job" - finish
    done
    umount "$here/memory" || umount -l "$here/memory"
}

# put_inittab_back: restore what was there, or, if it was edited since, remove the hook's lines.
put_inittab_back() {
    new=/etc/.inittab.foreread-new
    cp -p "$here/inittab.before" "$new" || return
    if ! cmp -s /etc/inittab "$here/inittab.ours"; then
        grep -v -F "$here/hook" /etc/inittab >"$new"
    fi
    sync
    mv -f "$new" /etc/inittab
}

case ${0##*/}:${1-} in
*-done:start | *-done:boot | *:done) boot_done ;;
*:start | *:boot) start ;;
*:arm) arm ;;
*:disarm) disarm || disarm_read_only ;;
*:remove) remove ;;
esac
