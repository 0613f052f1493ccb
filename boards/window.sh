# shellcheck shell=sh disable=SC2034
# The readahead window of a mounted file system; included by other scripts. It starts no process.
# The rules are those of boards/backing.py.

# find_window DIRECTORY: set window to the read_ahead_kb that the files of the file system mounted
# there get when they are opened; fails if sysfs does not say which it is.
find_window() {
    window='' device='' kind=''
    while read -r _ _ node _ point rest; do
        [ "$point" = "$1" ] || continue
        device=$node kind=${rest#* - }
    done </proc/self/mountinfo
    [ -n "$device" ] || return
    kind=${kind%%[ .]*}
    for name in "$device-fuseblk" "squashfs_${device%:*}_${device#*:}"; do
        window=/sys/class/bdi/$name/read_ahead_kb
        [ ! -e "$window" ] || return 0
    done
    window=/sys/class/bdi/$device/read_ahead_kb
    if [ ! -e "$window" ]; then
        set -- /sys/class/bdi/"$kind"-[0-9]*/read_ahead_kb
        window=$1
        [ $# = 1 ] || return
    fi
    [ -e "$window" ]
} 2>/dev/null
