# shellcheck shell=sh
# Restarts a disk's scheduler; included by other scripts.

# choose_anew QUEUE: restart its scheduler, and keep the tunables. The kernel sets nr_requests by
# the disk: 2 for a disk that accepts one request at a time (a USB stick), although less than 4
# (BLKDEV_MIN_RQ) cannot be written.
choose_anew() {
    tunables=''
    for tunable in "$1"/iosched/*; do
        ! read -r value <"$tunable" || tunables="$tunables$tunable $value
"
    done
    read -r value <"$1/scheduler"
    case $value in *"[none]"* | none) return ;; esac
    value=${value#*"["} value=${value%%"]"*}
    echo none >"$1/scheduler"
    echo "$value" >"$1/scheduler"
    while read -r tunable value; do
        [ -z "$tunable" ] || echo "$value" >"$tunable"
    done <<END
$tunables
END
} 2>/dev/null
