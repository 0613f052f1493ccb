# shellcheck shell=sh
# How a scheduler is chosen anew, for whoever includes this.

# choose_anew QUEUE: have its scheduler begin again, with the tunables that it has. The kernel gives
# it as many nr_requests as suit the disk: 2 for one that takes one request at a time (a USB stick),
# of which nobody can write less than 4 (BLKDEV_MIN_RQ).
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
