# shellcheck shell=sh disable=SC2034,SC2154
# The verbs of a job that shows what a target reads: its events stay in the kernel's buffers until the
# host takes them, at intervals. Nothing else runs on the target meanwhile but the owner of the job.
#
# Settings: events (always recorded; the first is indispensable), touches (recorded from a read of a
# disk on), filter (of events by file system), buffer_kib (per CPU; events that do not fit are lost).

# begin_top: start the owner; print what is recorded, and the formats of the events.
begin_top() {
    need cat dd grep mkdir mkfifo mv rm rmdir sed sleep
    begin_owner - own_top
    exec 9<>"$job/changed"
    tries=0
    while [ ! -e "$job/facts" ] && [ $tries -lt 150 ]; do
        pause 1
        tries=$((tries + 1))
    done
    [ -e "$job/facts" ] || die "the recorder on the target does not start" \
        "look at the target's kernel log: it may have been killed, or out of memory"
    cat "$job/facts"
    ! grep -q '^error ' "$job/facts" || exit 1
}

# own_top: own the job until it is finished, or the host is gone.
own_top() {
    exec 9<>"$job/wake" 4<>"$job/changed"
    own_job
    # Kept open so that another foreread, when it ends, does not unmount it.
    keep_tracefs || :
    (prepare_top) >"$job/facts.new"
    mv "$job/facts.new" "$job/facts"
    echo >&4
    stay_until_finished
}

# prepare_top: make the instance, and record.
prepare_top() {
    [ -d "$tracing/events" ] || die "cannot mount tracefs" \
        "run as root, on a kernel with CONFIG_FTRACE and event tracing"
    has_event "${events%% *}" || die "the target's kernel has no event ${events%% *}" \
        "use Linux 3.10 or later with CONFIG_FTRACE and event tracing"
    make_instance top "$buffer_kib"
    kept=
    for event in $events $touches; do
        if has_event "$event"; then
            kept="$kept $event"
            echo "event $event"
            case $event in
            filemap:*) chosen=$filter ;;
            block:*) chosen='rwbs ~ "*R*"' ;;
            *) chosen=0 ;;
            esac
            echo "$chosen" >"$(directory_of "$event")/filter"
        else
            echo "missing $event"
        fi
    done
    set -- "$tracing/events/header_page"
    for event in $kept; do
        set -- "$@" "$tracing/events/${event%%:*}/${event#*:}/format"
    done
    grep -s '' "$@" | sed "s|^$tracing/events/|format |"
    for event in $events; do
        ! has_event "$event" || echo 1 >"$(directory_of "$event")/enable"
    done
    await_reads
    echo 1 >"$made/tracing_on"
}

# directory_of EVENT: print its directory in the instance.
directory_of() {
    echo "$made/events/${1%%:*}/${1#*:}"
}

# await_reads: have the kernel record touches from the next read of a disk on. Until then each costs
# the application the test of a flag (trace_trigger_soft_disabled, kernel/trace/trace.h).
await_reads() {
    trigger=$(directory_of "${events%% *}")/trigger
    for event in $touches; do
        has_event "$event" || continue
        echo "enable_event:$event if $filter" >"$trigger" 2>/dev/null ||
            echo 1 >"$(directory_of "$event")/enable"
    done
} 2>/dev/null
