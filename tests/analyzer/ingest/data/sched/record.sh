#!/bin/sh
# Makes the fixtures of this directory anew: as root, with trace-cmd, perf, unshare and busybox.
set -eu

TRACING=/sys/kernel/tracing
EVENTS="sched/sched_switch sched/sched_waking sched/sched_process_fork"
INSTANCE=$TRACING/instances/foreread-fixture

if [ "${1:-}" != inside ]; then
    here=$(cd "$(dirname "$0")" && pwd)
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT # out here nothing is mounted in it
    unshare -m sh "$here/$(basename "$0")" inside "$here" "$scratch"
    exit
fi
here=$2
cd "$3"

# Two processes on two CPUs that wait for one another, one for the clock, and one for its child.
cat >workload.sh <<'SH'
busybox taskset 1 busybox cat /proc/version | busybox taskset 2 busybox md5sum
busybox sleep 0.01
SH
chmod +x workload.sh

tracefs() {
    mkdir "$INSTANCE"
    echo mono >"$INSTANCE/trace_clock"
    for event in $EVENTS; do
        echo 1 >"$INSTANCE/events/$event/enable"
    done
    echo 1 >"$INSTANCE/options/event-fork"
    sh -c "echo \$\$ >$INSTANCE/set_event_pid; exec busybox sh ./workload.sh"
    echo 0 >"$INSTANCE/tracing_on"
    cp "$INSTANCE/trace" "$here/trace.txt"
    rm -rf "$here/pages"
    mkdir -p "$here/pages/stats"
    cp "$TRACING/events/header_page" "$TRACING/events/header_event" "$here/pages"
    for event in $EVENTS; do
        mkdir -p "$here/pages/events/$event"
        cp "$TRACING/events/$event/format" "$here/pages/events/$event/format"
    done
    for cpu in 0 1; do
        cp "$INSTANCE/per_cpu/cpu$cpu/stats" "$here/pages/stats/cpu$cpu"
        timeout 1 cat "$INSTANCE/per_cpu/cpu$cpu/trace_pipe_raw" >"$here/pages/cpu$cpu.raw" || :
    done
    rmdir "$INSTANCE"
}

# trace-cmd sees the listed events only and no kallsyms, so that its file stays small.
hide() {
    for file in "$TRACING/set_ftrace_filter" "$TRACING/set_ftrace_notrace" \
        "$TRACING/set_ftrace_pid" "$TRACING/set_ftrace_notrace_pid" /proc/kallsyms; do
        mount --bind empty "$file"
    done
    mount --bind one /proc/sys/kernel/ftrace_enabled
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

of_workload='prev_comm == "busybox" || next_comm == "busybox"'
perf record -q -a -k mono -c 1 --no-buildid -o perf.data \
    -e sched:sched_switch --filter "$of_workload" -e sched:sched_waking --filter 'comm == "busybox"' \
    -- busybox sh ./workload.sh
perf script --ns -F tid,cpu,time,event,trace -i perf.data >"$here/perf.txt"
xz -9 <perf.data >"$here/perf.data.xz"
: >empty
echo 1 >one
tracefs
hide
trace-cmd record -q -F -c -C mono -e sched:sched_switch -e sched:sched_waking \
    --file-version 7 --compression zstd -o "$here/v7.trace.dat" busybox sh ./workload.sh
trace-cmd report -t "$here/v7.trace.dat" >"$here/v7.report.txt"
