#!/bin/sh
# Record the golden files into the directory given (root; perf, losetup, mkfs.ext4, busybox).
# The workload reads part of a file, and itself, from an ext4 image whose read_ahead_kb is 0.
set -eu
out=$1
scratch=/dev/shm/foreread-golden-perf
mkdir -p "$scratch/m"
truncate -s 16M "$scratch/image"
mkfs.ext4 -q "$scratch/image"
loop=$(losetup -f --show "$scratch/image")
trap 'umount -q "$scratch/m" || true; losetup -d "$loop"; rm -r "$scratch"' EXIT
mount "$loop" "$scratch/m"
cp /bin/busybox "$scratch/m/busybox"
seq 20000 >"$scratch/m/numbers"
umount "$scratch/m"
echo 0 >"/sys/block/$(basename "$loop")/queue/read_ahead_kb"

events='-e filemap:mm_filemap_add_to_page_cache -e filemap:mm_filemap_delete_from_page_cache
    -e filemap:mm_filemap_fault -e filemap:mm_filemap_get_pages -e filemap:mm_filemap_map_pages
    -e readahead:page_cache_ra_unbounded -e readahead:page_cache_sync_ra
    -e block:block_bio_queue -e block:block_rq_issue -e block:block_rq_complete
    -e sched:sched_process_fork -e sched:sched_process_exec -e sched:sched_process_exit'
mixed='-e filemap:mm_filemap_add_to_page_cache -e block:block_rq_issue
    -e sched:sched_process_exec -e cpu-clock -F 99 -g'
few='-e filemap:mm_filemap_add_to_page_cache -e block:block_rq_complete
    -e sched:sched_process_exec'

start="$scratch/m/busybox head -c 40000 $scratch/m/numbers >/dev/null; :"
burst="for i in 1 2; do $scratch/m/busybox dd if=$scratch/m/numbers bs=128 2>/dev/null; done >/dev/null"

# record WORKLOAD EVENTS OPTIONS...: on a fresh mount
record() {
    workload=$1 chosen=$2
    shift 2
    mount -o ro "$loop" "$scratch/m"
    # shellcheck disable=SC2086 # events are words
    perf record -q -a -k mono -B --synth=no $chosen "$@" -- sh -c "$workload"
    umount "$scratch/m"
}

script=$(realpath "$(dirname "$0")/expected.py")
cd "$out"
record "$start" "$events" -o file.data
record "$start" "$few" -o - >pipe.data
record "$start" "$few" -z -o zstd.data
record "$start" "$few" -z -o - >zstd-pipe.data
record "$start" "$mixed" -o mixed.data
record "$burst" "-e filemap:mm_filemap_get_pages" -m 1 -o lost.data
for name in file pipe zstd zstd-pipe mixed lost; do
    perf script -s "$script" -i "$name.data" >"$name.tsv" 2>/dev/null
    xz -f "$name.data" # most of it is a list of thread names
done
