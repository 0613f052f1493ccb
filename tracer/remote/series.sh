# shellcheck shell=sh disable=SC2034,SC2154
# A series of runs in one job: the host queues the runs, the target makes them one after another,
# and the host fetches each result while the next run is made.
#
# Run N is the file queue.N in the job's folder: shell assignments of the settings that differ
# between runs (knobs, scenario, load_path, load_mib, load_disk, replayer, later). Its result is facts.N, out.N and
# err.N. One process, the guard, owns the job; the maker makes the runs, each in its own subshell,
# and restores everything after each. If the maker dies or the host does not call, the guard
# restores.

# queue FIRST TEXT...: add runs, numbered from FIRST on.
queue() {
    number=$1
    shift
    for text; do
        { echo "$text" >"$job/queue.new" && mv "$job/queue.new" "$job/queue.$number"; } ||
            die "$job is full" "make room in the target's memory"
        number=$((number + 1))
    done
    exec 9<>"$job/next" # "<>": ">" would block until there is a reader
    echo >&9
}

# fetch NUMBER SECONDS REST [FIRST TEXT...]: print the result of a run, or "state running" if it has
# not ended after SECONDS; add runs first, as queue does. While no run is being made, the guard waits
# REST seconds for the host.
fetch() {
    fetched=$1 seconds=$2
    uptime
    echo $((now + $3 * 100)) >"$job/rest.new" && mv "$job/rest.new" "$job/rest"
    shift 3
    [ $# -eq 0 ] || queue "$@"
    exec 9<>"$job/changed"
    while [ "$seconds" -gt 0 ] && [ ! -e "$job/facts.$fetched" ] && [ ! -e "$job/state" ]; do
        pause 1
        seconds=$((seconds - 1))
    done
    read -r now _ </proc/uptime
    echo "clock $now"
    if [ -e "$job/facts.$fetched" ]; then
        print_made "$fetched"
    elif [ -e "$job/state" ]; then
        grep '^error ' "$job/state"
        exit 1
    else
        expect_guard
        echo "state running"
    fi
}

# print_made NUMBER: print the facts of a run and its output, and remove them.
print_made() {
    ! grep '^error ' "$job/facts.$1" || exit 1
    cat "$job/facts.$1"
    echo "outputs $(wc -c <"$job/out.$1")"
    cat "$job/out.$1" "$job/err.$1"
    rm -f "$job/facts.$1" "$job/out.$1" "$job/err.$1"
}

# guard_series: own the job until it is finished, or the host is gone.
guard_series() {
    exec 9<>"$job/wake" 4<>"$job/changed"
    if ! take_lock >"$job/facts"; then
        conclude
        [ ! -d "$job" ] || pause 30
        rm -rf "$job"
        return
    fi
    undo_leftovers >"$job/leftovers"
    keep_tracefs
    (make_series >>"$job/facts") 3>&- &
    maker=$!
    add_maker $maker
    while [ ! -e "$job/finish" ]; do
        pause 2
        is_awaited || break
        start_of $maker
        [ -n "$started" ] || [ -e "$job/state" ] || bury_maker
    done
    undo "$job" restored
}

# is_awaited: whether the host's lease is still valid; it may be longer while nothing is changed.
is_awaited() {
    until_when=lease
    [ -e "$job/busy" ] || [ ! -e "$job/rest" ] || until_when=rest
    ! has_expired "$job/$until_when"
}

# bury_maker: restore everything for the dead maker, and report its death.
bury_maker() {
    end_makers "$job"
    settle
}

# make_series: make the queued runs, in an endless loop.
make_series() {
    exec 9<>"$job/next"
    prepare
    run=1
    while :; do
        until [ -e "$job/queue.$run" ]; do
            pause 1
        done
        : >"$job/busy"
        exec 5<>"$job/load.in"
        (
            # shellcheck source=/dev/null
            . "$job/queue.$run"
            make_run
        ) >"$job/made" 3>&- 4>&- 5>&-
        end_run >>"$job/made"
        mv "$job/made" "$job/facts.$run"
        echo >&4
        run=$((run + 1))
    done
}

# end_run: restore what the run has changed, print its result so far, and prepare the job's folder
# for the next run.
end_run() {
    [ -e "$job/keep" ] || end_command "$job" restored
    end_helpers "$job" restored
    end_load "$job"
    remove_memory_group "$job"
    restore "$job" restored
    [ "$run" -gt 1 ] || cat "$job/leftovers"
    [ -z "$marks" ] || fact mark "$marks/trace"
    for made in $marks ${watched:+$bios}; do
        echo >"$made/trace"
    done
    for stream in stdout=out stderr=err; do
        mv "$job/${stream%=*}" "$job/${stream#*=}.$run" 2>/dev/null ||
            : >"$job/${stream#*=}.$run" # the run ended before it began
    done
    rm -rf "$job/over" "$job/ended" "$job/released" "$job/idle_since" "$job/command" \
        "$job/helpers" "$job/ready" "$job/gate" "$job/never" "$job/gate.duration" \
        "$job/gate.idle" "$job"/std???.pipe "$job"/std???.copy "$job/load.pid" "$job/load" \
        "$job/set" "$job/displaced" "$job/moved" "$job/others" "$job/journal.done" \
        "$job/keep" "$job/recorder" "$job/queue.$run" "$job/busy" "$job/beside" "$job/beside.held" \
        "$job/replayer.said" "$job/group"
}
