# shellcheck shell=sh disable=SC2154
# The last part of every job: runs the verb, after noting that the host was heard of.

# extend SECONDS: the host will be heard of again within so many seconds.
extend() {
    uptime
    echo $((now + $1 * 100)) >"$job/lease.$$" && mv "$job/lease.$$" "$job/lease"
}

[ "$1" = - ] || extend "$1" || die "$job is full" "make room in the target's memory"
shift
"$@"
