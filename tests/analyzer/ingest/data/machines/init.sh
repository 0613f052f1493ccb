#!/bin/sh
# The guest's side of record.py: traces one cold run, as raw pages and as the kernel's own text.
set -u
export PATH=/bin
tracing=/sys/kernel/tracing
instance=$tracing/instances/fixture

# disk SERIAL: print the device node of the virtio disk with that serial.
disk() {
    for candidate in /sys/block/vd*; do
        [ "$(cat "$candidate/serial")" != "$1" ] || echo "/dev/${candidate##*/}"
    done
}

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs out /out
mount -t tracefs tracing $tracing
while read -r module; do
    insmod "/modules/$module"
done </modules/order
mount -t ext4 -o ro "$(disk image)" /app
uname -srvm >/out/uname

while read -r probe; do
    echo "$probe" >>$tracing/kprobe_events
done </job/probes
mkdir $instance
echo 0 >$instance/tracing_on
echo mono >$instance/trace_clock
echo 0 >$instance/options/overwrite
echo 1 >$instance/options/event-fork
echo 0 >"/sys/block/$(disk image | cut -c 6-)/queue/read_ahead_kb"
for header in header_page header_event; do
    cat $tracing/events/$header >/out/$header
done
for event in filemap/mm_filemap_add_to_page_cache block/block_bio_queue block/block_rq_issue \
    block/block_rq_complete sched/sched_process_exec sched/sched_process_exit \
    foreread/file_fault foreread/file_read foreread/file_map foreread/openat; do
    mkdir -p /out/events/$event
    cat $tracing/events/$event/format >/out/events/$event/format
    echo 1 >$instance/events/$event/enable
done

echo 3 >/proc/sys/vm/drop_caches
# shellcheck disable=SC2016
INSTANCE=$instance sh -c 'echo $$ >$INSTANCE/set_event_pid
    echo 1 >$INSTANCE/tracing_on
    exec /app/busybox head -c 40000 /app/data' >/out/head
echo 0 >$instance/tracing_on
cat $instance/trace >/out/trace.txt # leaves the pages where they are
mkdir /out/stats
cat $instance/per_cpu/cpu0/stats >/out/stats/cpu0
# Reading an empty buffer waits for ever.
timeout 2 dd if=$instance/per_cpu/cpu0/trace_pipe_raw of=/out/cpu0.raw bs=4096 2>/dev/null

cd /out && tar -cf "$(disk result)" .
sync
reboot -f
