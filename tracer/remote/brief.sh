# shellcheck shell=sh disable=SC2034,SC2154
# The first part of scripts that are called often. A shell takes some 25 million instructions to parse
# all functions of a job, so these have their own.
set -u
umask 077
export LC_ALL=C
job=${0%/*}

# renew_lease SECONDS: the host calls again within SECONDS.
renew_lease() {
    read -r now _ </proc/uptime
    now=${now%.*}${now#*.}
    { echo $((now + $1 * 100)) >"$job/lease.$$" && mv "$job/lease.$$" "$job/lease"; } || exit 1
}
