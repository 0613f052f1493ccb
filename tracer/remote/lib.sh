# shellcheck shell=sh disable=SC2034,SC2154,SC2209,SC3045,SC3067
# Functions that every job on a target needs: applets, the lock, the end of a job, the page
# cache. The files of a job are one script on the target, for busybox ash and other POSIX shells.
# Results are lines "KEY VALUE" on stdout, a failure is "error TEXT|REMEDY".
#
# usage: SHELL DIRECTORY/job.sh LEASE VERB [ARGUMENT...]
#   LEASE      seconds within which the host calls again; - if the target itself calls
#   DIRECTORY  PLACE/foreread-TOKEN: used by this job only, in memory. Its file "settings" holds
# quoted
#              assignments, and run_command, which calls its arguments with the command's words
set -u
# For the command (held.sh); the scripts that this one starts inherit them.
if [ -z "${foreread_umask-}" ]; then
    foreread_umask=$(umask) foreread_locale=${LC_ALL-}
    export foreread_umask foreread_locale
fi
umask 077
export LC_ALL=C
job=${resident_job:-${0%/*}}
places=${job%/*}
lock=$places/foreread.lock
local_lock=/run/foreread/lock # held through descriptor 3
tab=$(printf '\t')
shell=sh
# shellcheck source=/dev/null
[ ! -e "$job/settings" ] || . "$job/settings"

die() {
    echo "error $1|$2"
    exit 1
}

# need APPLET...: fail, naming all that are missing.
need() {
    lacking=
    for applet; do
        command -v "$applet" >/dev/null || lacking="$lacking $applet"
    done
    [ -z "$lacking" ] || die "the target lacks$lacking" \
        "build its busybox with them, or make its PATH ($PATH) lead to them"
}

# fact KEY FILE: print the lines of FILE as facts.
fact() {
    sed "s/^/$1 /" "$2" 2>/dev/null
    echo
}

# start_of PID: set started (clock ticks since boot, empty if the process no longer exists), session
# and flags (of the kernel).
start_of() {
    started='' session='' flags=0
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
    # shellcheck disable=SC2086
    set -- ${stat##*) }
    [ "$1" = Z ] || [ "$1" = X ] || started=${20}
    session=$4 flags=$7
}

# alive "PID START": whether that process still runs (a reused PID has another START).
alive() {
    start_of "${1%% *}"
    [ -n "$started" ] && [ "$started" = "${1##* }" ]
}

# uptime: set now to hundredths of a second since boot.
uptime() {
    read -r now _ </proc/uptime
    now=${now%.*}${now#*.}
}

# has_expired LEASE: whether the host has not called within its lease, or the job's folder is gone.
# LEASE is a file in that folder; a job without a host has none.
has_expired() {
    if { read -r lease <"$1"; } 2>/dev/null; then
        uptime
        [ "$now" -ge "$lease" ]
    else
        [ ! -d "${1%/*}" ]
    fi
}

# pause SECONDS: sleep, without starting a program if the shell supports that; a line from
# descriptor 9, a fifo that the caller has open for reading and writing, ends the pause. tick_s is
# the shortest pause; for_1s is the option of read for a timeout of one second, empty in shells
# whose read has no timeout.
tick_s=0.1
for tick_s in 0.1 1 ''; do
    [ -z "$tick_s" ] || : | read -r -t "$tick_s" _ 2>/dev/null || [ $? -ne 1 ] || break
done
for_1s=${tick_s:+-t 1}
if [ -n "$tick_s" ]; then
    pause() { read -r -t "$1" _ <&9; }
else
    sleep 0.1 2>/dev/null && tick_s=0.1 || tick_s=1
    pause() { sleep "$1"; }
fi

# nap: sleep for 0.1 s, or for 1 s where sleep takes no fractions.
nap() {
    sleep 0.1 2>/dev/null || sleep 1
}

# ---- the lock, and recovery after a dead owner ----

# take_lock: make this process the owner of the target's knobs. If another process owns them, print
# the error and return 1. A job that is ended while it waits, or whose host is gone, ends this
# process.
take_lock() {
    start_of $$
    me="$$ $started"
    tries=0
    until own_lock; do
        ! has_expired "$job/lease" || rm -rf "$job"
        [ -d "$job" ] || exit 1
        if [ $tries -ge "$lock_wait_s" ]; then
            echo "error another foreread (pid ${owner%% *}) holds the settings of this machine|wait\
 until it has finished, or add --wait SECONDS"
            return 1
        fi
        tries=$((tries + 1))
        sleep 1
    done
    note_owner "$me" || { rm -f "$lock" && exit 1; }
}

# note_owner "PID START": note the owner of the job. Another foreread that reads the note before it is
# whole would take the owner for dead, and undo the job: so it is moved there.
note_owner() {
    { echo "$1" >"$job/owner.new" && mv "$job/owner.new" "$job/owner"; } 2>/dev/null
}

# own_lock: take the lock unless it has a living owner; also take the lock of a foreread that runs
# on the target itself.
own_lock() {
    if ! (set -C && echo "$me" >"$lock") 2>/dev/null; then
        sleep 1 # its owner may be about to write its pid
        { read -r owner <"$lock"; } 2>/dev/null || owner='? ?'
        ! alive "$owner" && rm -f "$lock" && (set -C && echo "$me" >"$lock") 2>/dev/null || return
    fi
    if [ -w "$local_lock" ] && command -v flock >/dev/null; then
        exec 3<>"$local_lock"
        if ! flock -n 3; then
            read -r owner <&3
            exec 3>&-
            rm -f "$lock"
            return 1
        fi
        echo $$ >"$local_lock"
    fi
}

# release_lock DIRECTORY: remove the lock if that job holds it.
release_lock() {
    { read -r holder <"$lock" && read -r owner <"$1/owner"; } 2>/dev/null || return 0
    [ "$holder" != "$owner" ] || rm -f "$lock"
}

# undo_leftovers: restore what dead jobs have changed; the caller holds the lock.
undo_leftovers() {
    for other in "$places"/foreread-*; do
        if [ "$other" != "$job" ] && [ ! -L "$other" ] && [ -O "$other/owner" ]; then
            read -r owner <"$other/owner"
            alive "$owner" || undo "$other" leftover
        elif [ "$other" != "$job" ] && [ ! -L "$other" ] && [ -O "$other/lease" ] &&
            [ -s "$other/lease" ]; then
            ! has_expired "$other/lease" || rm -rf "$other" # it has changed nothing
        elif [ "$other" != "$job" ] && [ ! -L "$other" ] && [ -d "$other" ] && [ -O "$other" ] &&
            is_job "${other##*-}"; then
            uptime # it begins, or was cut off before its first lease: it gets one
            echo $((now + 25000)) >"$other/lease"
        fi
    done
}

# is_job TOKEN: whether this is the name of a job, as the host makes it.
is_job() {
    case $1 in *[!0-9a-f]*) return 1 ;; esac
    [ ${#1} = 16 ]
}

# copy_script FOLDER: copy the script into the job's folder.
copy_script() {
    cat "$job/job.sh" >"$1/job.sh"
}

# add_maker PID: note that this process makes runs of the job; it would outlive a killed guard.
add_maker() {
    start_of "$1"
    echo "$1 $started" >>"$job/makers"
}

# end_makers DIRECTORY: kill the processes that make runs of that job, and see them gone: they have
# tracefs open.
end_makers() {
    [ -e "$1/makers" ] || return 0
    while read -r one_of_them; do
        tries=0
        while alive "$one_of_them" && [ $tries -lt 20 ]; do
            kill -9 "${one_of_them% *}"
            nap
            tries=$((tries + 1))
        done
    done <"$1/makers"
} 2>/dev/null

# undo DIRECTORY KEY: end the command of a job, put everything back, remove its folder.
# Each step may have been done already. Whether anybody hears what it prints does not matter.
undo() {
    trap '' PIPE
    end_makers "$1"
    stop_tracing "$1"
    [ -e "$1/keep" ] || end_command "$1" "$2"
    end_helpers "$1" "$2"
    end_load "$1"
    restore "$1" "$2" || restore "$1" "$2"
    remove_memory_group "$1"
    remove_tracing "$1"
    release_lock "$1"
    remove_kept "$1"
    # Twice: another foreread may take the folder for one that begins, and give it a lease.
    rm -rf "$1" 2>/dev/null || rm -rf "$1"
    trap - PIPE # a command that is started later does hear of it
}

# remove_kept DIRECTORY: remove the folder on a disk that the job keeps files in (judged.sh).
remove_kept() {
    { read -r kept <"$1/kept"; } 2>/dev/null || return 0
    case ${kept##*/} in foreread-judge-*) rm -rf "$kept" ;; esac
}

# remove_memory_group DIRECTORY: remove the control group that the job made for its run (memory.sh), and
# what it changed for it. The group is busy until the last process in it has ended.
remove_memory_group() {
    { read -r made <"$1/memory_group"; } 2>/dev/null || made=''
    tries=0
    case ${made##*/} in
    foreread-*)
        until rmdir "$made" || [ ! -d "$made" ] || [ $tries -ge 50 ]; do
            nap
            tries=$((tries + 1))
        done
        ;;
    esac
    { read -r enabled <"$1/memory_enabled" && echo -memory >"$enabled"; } || :
    { read -r place <"$1/memory_mounted" && source_of "$place"; } || mounted=''
    case $mounted in foreread-*) umount "$place" ;; esac
    rm -f "$1/memory_group" "$1/memory_enabled" "$1/memory_mounted"
} 2>/dev/null

# finish: end the job, whatever its state, and return once nothing of it is left. The kernel may kill
# its owner meanwhile for want of memory.
finish() {
    : >"$job/finish"
    tries=0
    { read -r owner <"$job/owner"; } 2>/dev/null || owner='0 0' # nobody
    ! alive "$owner" || echo 1<>"$job/wake"
    while [ -d "$job" ] && alive "$owner" && [ $tries -lt 150 ]; do
        nap
        tries=$((tries + 1))
    done
    [ ! -d "$job" ] || alive "$owner" || undo "$job" restored
}

# expect_guard: if the guard of the job was killed, put everything back and fail.
expect_guard() {
    { read -r owner <"$job/owner"; } 2>/dev/null || return 0
    ! alive "$owner" || return 0
    undo "$job" restored
    die "the guard on the target died" "see why there: it may have been out of memory"
}

# ---- the page cache ----

# drop_caches: write back what is dirty, then drop page cache, directory entries and inodes.
drop_caches() {
    sync
    release_last_used
    echo 3 >/proc/sys/vm/drop_caches
}

# displace_squashfs: fill the caches that a squashfs has of its own with other files. It keeps 8
# blocks of metadata and 3 fragments (fs/squashfs/squashfs_fs.h, Kconfig); drop_caches leaves them.
displace_squashfs() {
    grep -q squashfs /proc/filesystems && command -v find >/dev/null || return 0
    while read -r _ place type _; do
        case $type in squashfs | overlay) read_spread "$place" ;; esac
    done </proc/mounts
}

# read_spread DIRECTORY: look up its first 4096 small files, and read 30 from all over them. A shell
# reads a list byte by byte, so sed chooses.
read_spread() {
    chosen='' line=1
    while [ $line -lt 4096 ]; do
        chosen="$chosen${line}p;" line=$((line + 1 + line / 4))
    done
    find "$1" -xdev -type f -size -64 2>/dev/null | sed -n "${chosen}4096q" |
        while IFS= read -r file; do
            [ ! -f "$file" ] || dd if="$file" of=/dev/null bs=32768 2>/dev/null
        done
}

# release_last_used: before Linux 6.7 drop_caches keeps the blocks and pages that a processor used
# last (bh_lrus in fs/buffer.c, lru_add in mm/swap.c). BLKFLSBUF makes all processors release them.
release_last_used() {
    read -r _ _ release _ </proc/version
    keeps_last_used "$release" || return 0
    while read -r disk _; do
        case $disk in # "tmpfs" and the like would be looked up in the root directory, and cache it
        /dev/*) [ ! -b "$disk" ] || blockdev --flushbufs "$disk" 2>/dev/null || : ;;
        esac
    done </proc/mounts
}

# keeps_last_used RELEASE: whether that kernel is older than 6.7.
keeps_last_used() {
    case $1 in [1-5].* | 6.[0-6] | 6.[0-6][.-]*) ;; *) return 1 ;; esac
}

# count_cached: set cached (file pages in the page cache that are not tmpfs's) and pinned (those
# that processes map, or that are memory themselves, as on a ramfs), in KiB.
count_cached() {
    Cached=0 Buffers=0 Shmem=0 Mapped=0 Unevictable=0 Mlocked=0
    while read -r key kib _; do
        case $key in
        Cached: | Buffers: | Shmem: | Mapped: | Unevictable: | Mlocked:) eval "${key%:}=$kib" ;;
        esac
    done </proc/meminfo
    cached=$((Cached + Buffers - Shmem))
    pinned=$((Mapped + (Unevictable > Mlocked ? Unevictable - Mlocked : 0)))
}

# drop_and_prove ALLOWED_KIB: drop until no more than so much is cached that nobody maps; print
# "cold BEFORE AFTER PINNED" (KiB). Fails if it never is, unless allow_warm is set.
drop_and_prove() {
    count_cached
    before=$cached
    for attempt in 1 2 3 4 5; do
        drop_caches || return 1
        count_cached
        [ $((cached - pinned)) -gt "$1" ] || break
        nap # somebody else's reads may still be under way
    done
    echo "cold $before $cached $pinned"
    [ $((cached - pinned)) -le "$1" ] || [ -n "$allow_warm" ] || return 2
}
