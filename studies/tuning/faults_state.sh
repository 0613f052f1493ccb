#!/bin/sh
# Prints the state of a board, one item per line: every readable setting of the kernel, mounts,
# swap, trace instances, processes, files outside of /usr. Without values that change by themselves,
# and without the script of a killed foreread, which the next one removes.
set -u
# Counters, identities, and limits computed from the free memory at boot (proc(5)).
moving='fs/(dentry-state|file-nr|inode-nr|inode-state|quota/syncs|file-max|epoll/max_user_watches)'
moving="$moving|kernel/(ns_last_pid|pty/nr|threads-max|random/(boot_id|uuid|entropy_avail))"
moving="$moving|net/ipv4/(tcp_fastopen_key|tcp_mem|udp_mem)|user/max_"
grep -rs '' /sys/block/*/queue /sys/class/bdi/*/ /sys/module/slowdisk/parameters /proc/sys |
    grep -E -v "^/proc/sys/($moving)|^/sys/module/slowdisk/parameters/now_ns"
cut -d ' ' -f 4- /proc/self/mountinfo
cut -f 1-2 /proc/swaps | sed 's/^/swap /'
# Instances outlive the mount through which they were made.
events=/sys/kernel/tracing
[ -d $events/events ] || { mount -t tracefs tracefs $events && mounted=yes; }
grep -s '' $events/tracing_on $events/trace_clock $events/set_event $events/*probe_events \
    $events/buffer_size_kb | sed 's/ (expanded.*//'
ls -d $events/instances/* 2>/dev/null
[ -z "${mounted-}" ] || umount $events

# Processes of our session and of the server belong to the observer.
read -r stat </proc/self/stat
# shellcheck disable=SC2086
set -- ${stat##*) }
session=$4
for process in /proc/[0-9]*; do
    { read -r stat <"$process/stat" && words=$(tr '\0' ' ' <"$process/cmdline"); } 2>/dev/null ||
        continue
    # shellcheck disable=SC2086
    set -- ${stat##*) }
    case $stat in *'(dropbear)'*) continue ;; esac
    [ "$4" = "$session" ] || [ -z "$words" ] || echo "process $words"
done
find / /run /tmp /dev/shm -xdev ! -path '/usr/*' ! -path '/run/board/*' |
    grep -E -v '^/run/foreread-[0-9a-f]*(/(job\.sh|lease|settings))?$'
