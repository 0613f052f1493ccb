#!/bin/sh
# Makes the fixtures of this directory anew: as root, with trace-cmd, unshare and python3.
# In a mount namespace of its own trace-cmd sees the listed events only and no kallsyms, so that
# the files stay small; files of tracefs that this kernel denies are replaced by empty ones.
set -eu

TRACING=/sys/kernel/tracing
EVENTS="filemap/mm_filemap_add_to_page_cache filemap/mm_filemap_delete_from_page_cache
filemap/mm_filemap_fault filemap/mm_filemap_get_pages filemap/mm_filemap_map_pages
readahead/page_cache_ra_unbounded readahead/page_cache_sync_ra
block/block_bio_queue block/block_rq_issue block/block_rq_complete
sched/sched_process_fork sched/sched_process_exec sched/sched_process_exit"
INSTANCE=foreread-fixture

if [ "${1:-}" != inside ]; then
    here=$(cd "$(dirname "$0")" && pwd)
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT # out here nothing is mounted in it
    unshare -m sh "$here/$(basename "$0")" inside "$here" "$scratch"
    exit
fi
here=$2
scratch=$3
cd "$scratch"

hide() {
    for file in "$TRACING/set_ftrace_filter" "$TRACING/set_ftrace_notrace" \
        "$TRACING/set_ftrace_pid" "$TRACING/set_ftrace_notrace_pid" /proc/kallsyms; do
        mount --bind "$scratch/empty" "$file"
    done
    mount --bind "$scratch/one" /proc/sys/kernel/ftrace_enabled
    mkdir events
    mount -t tmpfs none events
    cp "$TRACING/events/header_page" "$TRACING/events/header_event" events
    : >events/enable
    for event in ftrace/function $EVENTS; do
        mkdir -p "events/$event"
        mount --bind "$TRACING/events/$event" "events/$event"
    done
    mount --rbind events "$TRACING/events"
}

# What is traced: a read of a file that was never cached on one CPU, a process on the other.
workload() {
    rm -f file
    dd if=/dev/urandom of=file bs=64k count=2 oflag=direct status=none
    cat >workload.sh <<SH
busybox taskset 1 busybox md5sum $scratch/file
busybox taskset 2 busybox true
SH
}

by_name() {
    for event in $EVENTS; do
        printf ' -e %s' "$(printf %s "$event" | tr / :)"
    done
}

record() {
    output=$1
    shift
    workload
    # shellcheck disable=SC2046
    trace-cmd record -q "$@" -s 1000000 -F -c -C mono $(by_name) -o "$here/$output" busybox sh "$scratch/workload.sh"
}

# trace-cmd's -F does not filter instances: few events keep what other processes do small.
in_instance() {
    output=$1
    shift
    EVENTS="filemap/mm_filemap_fault sched/sched_process_exec"
    instance=$TRACING/instances/$INSTANCE
    mkdir "$instance"
    for file in set_ftrace_filter set_ftrace_notrace set_ftrace_pid set_ftrace_notrace_pid; do
        mount --bind empty "$instance/$file"
    done
    record "$output" "$@" -B "$INSTANCE"
    rmdir "$instance" 2>/dev/null || :
}

# The pages and texts of an instance, as the tracefs back-end lays them out.
tracefs() {
    workload
    instance="$TRACING/instances/$INSTANCE"
    mkdir "$instance"
    echo mono >"$instance/trace_clock"
    for event in $EVENTS; do
        echo 1 >"$instance/events/$event/enable"
    done
    echo 1 >"$instance/options/event-fork"
    sh -c "echo \$\$ >$instance/set_event_pid; exec busybox sh $scratch/workload.sh"
    echo 0 >"$instance/tracing_on"
    cp "$instance/trace" "$here/trace.txt"
    rm -rf "$here/pages"
    mkdir -p "$here/pages/stats"
    cp "$TRACING/events/header_page" "$TRACING/events/header_event" "$here/pages"
    for event in $EVENTS; do
        mkdir -p "$here/pages/events/$event"
        cp "$TRACING/events/$event/format" "$here/pages/events/$event/format"
    done
    for cpu in 0 1; do
        cp "$instance/per_cpu/cpu$cpu/stats" "$here/pages/stats/cpu$cpu"
        timeout 1 cat "$instance/per_cpu/cpu$cpu/trace_pipe_raw" >"$here/pages/cpu$cpu.raw" || :
    done
    rmdir "$instance"
}

: >empty
echo 1 >one
tracefs
hide
record v6.trace.dat --file-version 6
record v7-zstd.trace.dat --file-version 7 --compression zstd
record v7-none.trace.dat --file-version 7 --compression none
in_instance v6-instance.trace.dat --file-version 6
in_instance v7-instance.trace.dat --file-version 7 --compression zstd
trace-cmd report -t "$here/v7-zstd.trace.dat" >"$here/v7-zstd.report.txt"
for file in "$here"/*.trace.dat; do
    [ -x "${TRACECMD_PEER:-}" ] || break  # bench/tracecmd_peer.c, compiled
    "$TRACECMD_PEER" "$file" 1 "${file%.trace.dat}.tsv"
done
