# shellcheck shell=sh
# Prints what the target has that recording needs, as lines "KEY VALUE"; changes nothing.
# $1: the wanted events; $2: the wanted applets
while read -r key uid _; do
    [ "$key" != Uid: ] || echo "uid $uid"
    [ "$key" != CapEff: ] || echo "capabilities $uid"
done </proc/self/status
tracefs=
for place in /sys/kernel/tracing /sys/kernel/debug/tracing; do
    [ -r "$place/events" ] && tracefs=$place && break
    # Looking into debugfs would mount tracefs there for good: kernels since 4.1 do that.
    [ ! -d /sys/kernel/tracing ] || grep -qs " /sys/kernel/debug/tracing " /proc/mounts || break
done
if [ "$tracefs" ]; then
    echo "tracefs $tracefs"
    for event in $1; do
        [ ! -e "$tracefs/events/${event%%:*}/${event#*:}" ] || echo "event $event"
    done
    [ ! -w "$tracefs/kprobe_events" ] || echo "probes kernel"
    for instance in "$tracefs"/instances/foreread*; do
        [ ! -e "$instance" ] || echo "left $instance"
    done
else
    # A file system without a disk: "nodev NAME".
    while read -r _ kind; do
        [ "$kind" != tracefs ] || echo "mountable $kind"
    done </proc/filesystems
fi
[ ! -r /sys/kernel/btf/vmlinux ] || echo "btf vmlinux"
for applet in $2; do
    command -v "$applet" >/dev/null || echo "lacking $applet"
done
for knob in /proc/sys/vm/drop_caches /sys/block/*/queue/read_ahead_kb /sys/class/bdi/*/read_ahead_kb; do
    [ ! -w "$knob" ] || echo "writable $knob"
done
for knob in /sys/block/*/queue/scheduler; do
    disk=${knob#/sys/block/}
    if [ -w "$knob" ] && read -r offered <"$knob"; then
        echo "scheduler ${disk%%/*} $offered"
    fi
done
while read -r line; do
    echo "mount $line"
done </proc/self/mountinfo
while read -r line; do
    echo "meminfo $line"
done </proc/meminfo
print_disks
[ ! -e /proc/self/io ] || echo "accounting yes"
if { read -r bytes </sys/kernel/debug/fault_around_bytes; } 2>/dev/null; then
    echo "fault_around $bytes"
fi
for place in /dev/shm /run /tmp /var/tmp /dev; do
    for left in "$place"/foreread-*/journal "$place"/foreread.lock; do
        [ ! -e "$left" ] || echo "left $left"
    done
done
[ ! -e /etc/foreread-boot ] || echo "hook /etc/foreread-boot"
:
