# shellcheck shell=sh
# What describes the disks, and the stacks under file systems, to boards/sysfs_copy.py.

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
