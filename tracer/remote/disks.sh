# shellcheck shell=sh
# What describes the disks, and the stacks under file systems, to boards/sysfs_copy.py; squashfs.

# print_disks: print the files of sysfs that describe the disks, as "sys PATH:LINE".
print_disks() {
    for disk in /sys/block/*; do
        grep -s '' /dev/null "$disk"/dev "$disk"/size "$disk"/device/model "$disk"/device/name \
            "$disk"/loop/backing_file "$disk"/loop/dio "$disk"/dm/name "$disk"/dm/uuid \
            "$disk"/md/level "$disk"/slaves/*/dev "$disk"/queue/* \
            "$disk"/*/partition "$disk"/*/start "$disk"/*/dev
    done | sed 's/^/sys /'
    grep -s '' /dev/null /sys/class/bdi/*/read_ahead_kb /sys/fs/btrfs/*/devices/*/dev \
        /sys/class/ubi/*/name |
        sed 's/^/sys /'
    for bdi in /sys/fs/btrfs/*/bdi; do
        [ ! -d "$bdi" ] || echo "bdi $bdi $(cd -P "$bdi" && pwd -P)"
    done
} 2>/dev/null

# print_squashfs: print "squashfs MAJOR:MINOR BYTES UNIT" for each that is visible: the bytes of a
# block (statfs(2)), and of a device block (st_blksize of stat(2)), if the target has stat.
print_squashfs() {
    while read -r _ _ dev _ place rest; do
        case $rest in *' - squashfs '*) ;; *) continue ;; esac
        case $place in
            *\\*) place=$(printf '%b' "$(printf '%s\n' "$place" | sed 's/\\/\\0/g')") ;;
        esac
        major=${dev%:*} minor=${dev#*:}
        number=$(((minor & 255) | (major << 8) | ((minor & ~255) << 12)))
        # shellcheck disable=SC2046
        set -- $(stat -c '%d %o' "$place")
        # Another mount may hide it.
        [ "${1-}" != "$number" ] || echo "squashfs $dev $(stat -f -c %s "$place") $2"
    done </proc/self/mountinfo
} 2>/dev/null
