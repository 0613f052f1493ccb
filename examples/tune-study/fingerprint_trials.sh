#!/bin/sh
# Runs on the board: one trial for each line "WORKLOAD SCHEDULER PATH=VALUE..." of its input, and a
# line for each of what came of it: what the disk counted (requests and sectors read, written, ms
# that requests waited), six sums over the bios, and fio's report. A trial that cannot be made is a
# line "error TEXT". The knobs are put back at the end.
#
# usage: sh fingerprint_trials.sh FOLDER
#   FOLDER  in memory: watch.sh, whose $sum_up adds up bios, and WORKLOAD.fio
set -u
folder=$1
device=/dev/slow1 disk=slow1 at=/mnt
queue=/sys/block/$disk/queue
trace=/sys/kernel/tracing
sum_up=''
# shellcheck source=/dev/null
. "$folder/watch.sh"

# set_scheduler NAME: by way of another one, so that nr_requests is what the kernel gives it.
set_scheduler() {
    { echo none >$queue/scheduler && echo "$1" >$queue/scheduler; } 2>/dev/null
    case $(cat $queue/scheduler) in *"[$1]"*) ;; *) return 1 ;; esac
}

# set_knobs PATH=VALUE...: what is so already stays; then see that all are taken, since the kernel
# gives read_ahead_kb its default with max_sectors_kb, and refuses to write some that it has itself.
set_knobs() {
    for knob; do
        [ "$(cat "${knob%%=*}")" = "${knob#*=}" ] || echo "${knob#*=}" >"${knob%%=*}" || return
    done 2>/dev/null
    for knob; do
        [ "$(cat "${knob%%=*}")" = "${knob#*=}" ] || return
    done
}

counted() {
    read -r read _ read_sectors _ written _ written_sectors _ _ _ waited_ms _ <$queue/../stat
    echo "$read $read_sectors $written $written_sectors $waited_ms"
}

# run WORKLOAD SCHEDULER PATH=VALUE...: one trial, on a file system mounted anew, which is cold.
run() {
    workload=$1 scheduler=$2
    shift 2
    umount $at 2>/dev/null
    if ! { set_scheduler "$scheduler" && set_knobs "$@"; }; then
        echo "error the board does not take $scheduler $*"
        return
    fi
    mount -t ext4 -o noatime $device $at
    echo >$trace/trace
    before=$(counted)
    echo 1 >$trace/tracing_on
    fio --output-format=json --output="$folder/report" "$folder/$workload.fio" >/dev/null 2>&1 || {
        echo "error fio fails"
        return
    }
    echo 0 >$trace/tracing_on
    after=$(counted)
    bios=$(awk -v disks="$number" "$sum_up" $trace/trace)
    # shellcheck disable=SC2086
    set -- $before $after
    echo "$(($6 - $1)) $(($7 - $2)) $(($8 - $3)) $(($9 - $4)) $((${10} - $5)) $bios" \
        "$(tr -d '\n' <"$folder/report")"
}

mkdir -p $at
IFS=: read -r major minor <$queue/../dev
number="$major,$minor=0"
[ -d $trace/events ] || mount -t tracefs tracefs $trace
echo 0 >$trace/tracing_on
echo 8192 >$trace/buffer_size_kb
echo "dev == $(((major << 20) + minor))" >$trace/events/block/block_bio_queue/filter
echo 1 >$trace/events/block/block_bio_queue/enable
was=$(sed 's/.*\[\(.*\)\].*/\1/' $queue/scheduler)
was_kb=$(cat $queue/read_ahead_kb) was_sectors=$(cat $queue/max_sectors_kb)
put_back() {
    echo 0 >$trace/events/block/block_bio_queue/enable
    set_scheduler "$was"
    echo "$was_sectors" >$queue/max_sectors_kb
    echo "$was_kb" >$queue/read_ahead_kb
}
trap put_back EXIT
trap 'exit 1' HUP INT TERM
while read -r workload scheduler knobs; do
    # shellcheck disable=SC2086
    run "$workload" "$scheduler" $knobs
done
