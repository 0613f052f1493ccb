#!/bin/sh
# Makes kernel/ anew: as root, with unshare and busybox. The kernel prints one recorded buffer in
# each form that its trace options have, and records again with each clock.
set -eu

PAGES="filemap/mm_filemap_add_to_page_cache filemap/mm_filemap_fault
filemap/mm_filemap_get_pages filemap/mm_filemap_map_pages block/block_bio_queue
block/block_rq_issue block/block_rq_complete"
TASKS="sched/sched_process_fork sched/sched_process_exec sched/sched_process_exit
sched/sched_switch sched/sched_waking"

if [ "${1:-}" != inside ]; then
    here=$(cd "$(dirname "$0")" && pwd)
    scratch=$(mktemp -d /var/tmp/forms.XXXXXX)
    trap 'rm -rf "$scratch"' EXIT
    unshare -m sh "$here/$(basename "$0")" inside "$here" "$scratch"
    exit
fi
here=$2
scratch=$3
mkdir "$scratch/t"
mount -t tracefs none "$scratch/t"
instance=$scratch/t/instances/foreread-forms
mkdir "$instance"
trap 'rmdir "$instance"; umount "$scratch/t"' EXIT
mkdir -p "$here/kernel"
echo 0 >"$instance/tracing_on"
echo 1 >"$instance/options/event-fork"

# A file of ten pages that was never cached, read by one process.
record() {
    rm -f "$scratch/file"
    dd if=/dev/urandom of="$scratch/file" bs=4k count=10 oflag=direct status=none
    echo >"$instance/trace"
    sh -c "echo \$\$ >$instance/set_event_pid; echo 1 >$instance/tracing_on
        exec busybox head -c 40960 $scratch/file" >/dev/null
    echo 0 >"$instance/tracing_on"
}

# form NAME [option...]: the buffer as it is printed with these options.
form() {
    name=$1
    shift
    for option; do
        echo "$option" >"$instance/trace_options"
    done
    cat "$instance/trace" >"$here/kernel/$name.txt"
    for option; do
        case $option in
        no*) echo "${option#no}" ;;
        *) echo "no$option" ;;
        esac >"$instance/trace_options"
    done
}

for event in $PAGES $TASKS; do
    echo 1 >"$instance/events/$event/enable"
done
echo mono >"$instance/trace_clock"
echo record-tgid >"$instance/trace_options"
record
form plain norecord-tgid
form tgid
form no-flags noirq-info
form latency latency-format
form verbose latency-format verbose
form fields fields
form hex hex
form raw raw
form no-context nocontext-info
for event in $TASKS; do
    echo 0 >"$instance/events/$event/enable"
done
for clock in counter uptime boot x86-tsc; do
    echo "$clock" >"$instance/trace_clock"
    record
    form "clock-$clock" norecord-tgid
    form "clock-$clock-latency" latency-format
done
