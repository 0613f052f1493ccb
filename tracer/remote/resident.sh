# shellcheck shell=sh disable=SC2034,SC2154
# The last part of the script that watches a board without a host.
#
# usage: foreread-fingerprint start|stop|status|run

# say_period, say: keep the latest report of a resident watcher, and send it to the system's log if
# there is one.
say_period() {
    echo "period $1" >"$job/period.new" && mv "$job/period.new" "$job/period"
}

written=0
say() {
    echo "$1" >>"$job/said"
    written=$((written + 1))
    # It runs for months, and the folder is in memory.
    [ $((written % 100)) -ne 0 ] || { tail -n 300 "$job/said" >"$job/said.new" &&
        mv "$job/said.new" "$job/said"; }
    ! command -v logger >/dev/null || logger -t foreread "$1"
}

# settle_place: make the folder; first restore what a killed watcher has changed.
settle_place() {
    tries=0
    while [ -d "$job" ] && [ ! -e "$job/owner" ] && [ $tries -lt 50 ]; do
        nap # another watcher is just starting
        tries=$((tries + 1))
    done
    if { read -r owner <"$job/owner"; } 2>/dev/null && alive "$owner"; then
        die "a watcher is running already (pid ${owner%% *})" "stop it first: $0 stop"
    fi
    [ ! -d "$job" ] || undo "$job" leftover
    mkdir "$job" || die "the folder $job cannot be made" "run as root"
}

case ${1-} in
start)
    settle_place
    begin_watch watch
    ;;
run)
    settle_place
    mkfifo "$job/wake" "$job/changed"
    : >"$job/said"
    trap ': >"$job/finish"; echo >&9' INT TERM HUP
    watch
    ;;
watch) watch ;;
stop) finish ;;
status)
    [ -e "$job/owner" ] || die "no watcher is running" "start it: $0 start"
    cat "$job/period" "$job/said" 2>/dev/null
    ;;
*)
    echo "usage: $0 start|stop|status|run" >&2
    exit 2
    ;;
esac
