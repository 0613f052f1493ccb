# One trial of a file system on a device, whose content is lost: make it, fill it, mount it cold,
# measure it by fio, unmount it, and zero the device's beginning and end again.
#   sh -c THIS sh VERB DEVICE KIND MOUNT_OPTIONS RUN_MS OVERWRITE LIMIT_S MKFS_WORD... <JOB
# Must run in its own mount namespace, so that the mount is private and disappears with the last of
# its processes. Its first line is the result: "refused", "invalid" (no such file system), "failed",
# each with a reason; or "measured" and the duration of the sync after the run (hundredths of a
# second), followed by fio's report. With the verb "check" it only says whether the device is
# "free"; with "try" it makes the trial. It changes no knob.
# shellcheck shell=sh
set -u
export LC_ALL=C
verb=$1 device=$2 kind=$3 options=$4 run_ms=$5 overwrite=$6 limit_s=$7
shift 7
at=/tmp # any folder: the mount is visible only to this process
edge_kib=1024

end() {
    printf '%s %s\n' "$1" "$(printf %s "$2" | tr -s '\n' ' ')"
    exit 0
}

# in_use NAME: whether anything on this machine, in any namespace, uses the device or a part of it.
in_use() {
    for part in "/sys/class/block/$1" "/sys/class/block/$1/$1"*; do
        [ -e "$part/dev" ] || continue
        name=${part##*/}
        grep -Fqs -e " $(cat "$part/dev") " -e " /dev/$name " /proc/[0-9]*/mountinfo && return
        grep -Fqs "/dev/$name " /proc/swaps && return
        [ -z "$(ls "$part/holders" 2>/dev/null)" ] || return 0
    done
    return 1
}

blank() {
    dd if="$device" bs=64k count=$((edge_kib / 64)) 2>/dev/null | tr -d '\000' | grep -q '' && return 1
    return 0
}

known() {
    grep -qw "$kind" /proc/filesystems
}

# Leave no signature of our file system at either end of the device.
erase() {
    dd if=/dev/zero of="$device" bs=64k count=$((edge_kib / 64)) conv=notrunc,fsync
    sectors=$(cat "/sys/class/block/$name/size")
    dd if=/dev/zero of="$device" bs=512 seek=$((sectors - 128)) count=128 conv=notrunc,fsync
} >/dev/null 2>&1

mounted=
restore() {
    trap '' INT TERM HUP
    [ -z "$mounted" ] || umount -i "$at"
    erase
}

put_on() {
    said=$(mount -i -t "$kind" -o "$options" "$device" "$at" 2>&1) ||
        end invalid "mount -t $kind -o $options: $said"
    mounted=yes
}

run_fio() {
    printf '%s\n' "$job" | timeout -k 5 "$limit_s" fio --directory="$at" --runtime="${run_ms}ms" "$@" -
}

hundredths() {
    read -r up _ </proc/uptime
    echo "${up%.*}${up#*.}"
}

job=$(cat)
device=$(readlink -f "$device")
name=${device##*/}
[ -b "$device" ] || end refused "is not a block device"
[ -e "/sys/class/block/$name/dev" ] || end refused "is not a device that sysfs knows"
in_use "$name" && end refused "is in use"
[ "$overwrite" = yes ] || blank || end refused "is not blank"
[ "$verb" = try ] || end free "$name"
for tool in "mkfs.$kind" fio timeout; do
    command -v "$tool" >/dev/null || end failed "$tool is not installed"
done
known || modprobe -q "$kind" 2>/dev/null
known || end failed "this kernel has no $kind"
exec 3<"$device" # a loop device that detaches itself stays ours
trap restore EXIT
trap 'exit 1' INT TERM HUP
trap '' PIPE # restore everything even if the caller is gone

said=$(timeout -k 5 "$limit_s" "mkfs.$kind" "$@" "$device" 2>&1 </dev/null) ||
    end invalid "mkfs.$kind $*: $said"
put_on
said=$(run_fio --create_only=1 2>&1) || end failed "fio: $said"
umount -i "$at" || end failed "cannot be unmounted"
mounted=
echo 3 >/proc/sys/vm/drop_caches
put_on
report=$(run_fio --output-format=json 2>&1) || end failed "fio: $report"
began=$(hundredths)
sync
printf 'measured %s\n%s\n' $(($(hundredths) - began)) "$report"
