#!/bin/sh
# Prints the fixtures ../ftrace/v7-zstd.trace.dat and ../perf/mixed.data.xz in other forms: with
# trace-cmd, perf and xz.
set -eu
cd "$(dirname "$0")"
mkdir -p trace-cmd perf
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

report() {
    name=$1
    shift
    trace-cmd report "$@" ../ftrace/v7-zstd.trace.dat | xz >"trace-cmd/$name.txt.xz"
}

report latency -l
report raw -R
report raw-latency -R -l -t
report ts-diff --ts-diff
report ts-diff-full --ts-diff -t
report raw-ts --raw-ts
report one-event-raw -t -r mm_filemap_add_to_page_cache
trace-cmd report -t -i ../ftrace/v7-zstd.trace.dat -i ../ftrace/v6-instance.trace.dat |
    xz >trace-cmd/two-files.txt.xz

script() {
    name=$1
    shift
    perf script -i "$scratch/mixed.data" "$@" >"perf/$name.txt" 2>/dev/null
}

xz -dc ../perf/mixed.data.xz >"$scratch/mixed.data"
script chains --ns
script deltatime -G --deltatime
script reltime -G --ns --reltime
script headers -G --ns -I
script misc -G --ns -F +misc
script period -G --ns -F +period
script tod -G --ns -F +tod
script pid-tid -G --ns -F comm,pid,tid,cpu,time,event,trace
script symbols -G --ns -F +ip,+sym
script tasks -G --ns --show-task-events
script no-comm -G --ns -F tid,cpu,time,event,trace
script no-cpu -G --ns -F comm,tid,time,event,trace
script no-thread -G --ns -F cpu,time,event,trace
script no-time -G --ns -F comm,tid,cpu,event,trace
script no-event -G --ns -F comm,tid,cpu,time,trace
