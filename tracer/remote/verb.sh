# shellcheck shell=sh disable=SC2154
# The last part of every job: runs the verb, after renewing the host's lease.

# extend SECONDS: renew the lease: the host must call again within SECONDS.
extend() {
    uptime
    echo $((now + $1 * 100)) >"$job/lease.$$" && mv "$job/lease.$$" "$job/lease"
}

[ "$1" = - ] || extend "$1" || die "$job is full" "make room in the target's memory"
shift
"$@"
