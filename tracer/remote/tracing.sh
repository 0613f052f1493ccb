# shellcheck shell=sh disable=SC2034,SC2154
# ftrace instances of a job: one for the events, one for its own marks, whose text tells the
# times of start and end in the clock of the trace.

# find_tracefs: set tracing to its directory, mounting it if it is not.
find_tracefs() {
    for tracing in /sys/kernel/tracing /sys/kernel/debug/tracing; do
        [ ! -d $tracing/events ] || return 0
    done
    tracing=/sys/kernel/tracing
    if why=$(mount -t tracefs tracefs $tracing 2>&1); then
        echo $tracing >"$job/mounted"
    elif mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null; then
        echo /sys/kernel/debug >"$job/mounted"
        tracing=/sys/kernel/debug/tracing
    fi
    [ -d $tracing/events ]
}

# make_instance NAME BUFFER_KIB: set made to a new instance of that clock and size.
make_instance() {
    read -r owner <"$job/owner"
    made=$tracing/instances/foreread-${owner% *}-${owner#* }-$1
    echo "$made" >>"$job/instances"
    mkdir "$made" 2>/dev/null || die "no trace instance can be made in $tracing/instances" \
        "use a kernel from 3.10 on with CONFIG_FTRACE, and see that memory is free"
    echo 0 >"$made/tracing_on"
    echo mono 2>/dev/null >"$made/trace_clock"
    # Keep the beginning when the buffer is full: a start-up's first part is still exact.
    echo 0 >"$made/options/overwrite"
    (echo "$2" >"$made/buffer_size_kb") 2>/dev/null || die \
        "there is no memory for $2 KiB of trace buffer per CPU" "give a smaller --buffer-kib"
}

# has_event EVENT: whether this kernel has it.
has_event() {
    [ -d "$tracing/events/${1%%:*}/${1#*:}" ]
}

# stand_in EVENT: set event to what stands in for it where the kernel lacks it; else fail.
stand_in() {
    for pair in $standins; do
        event=${pair#*=}
        [ "${pair%%=*}" != "$1" ] || ! has_event "$event" || return 0
    done
    return 1
}

# prepare_tracing: make both instances and print which events there are.
prepare_tracing() {
    [ -d "$tracing/events" ] || die "tracefs cannot be mounted at $tracing: ${why##*: }" \
        "use a kernel with CONFIG_FTRACE and event tracing"
    make_instance marks 16
    marks=$made
    echo 1 >"$marks/tracing_on"
    make_instance events "$buffer_kib"
    instance=$made
    echo "$marks $instance" >"$job/pair"
    echo "$tracing" >"$job/tracing"
    read -r clocks <"$instance/trace_clock"
    clocks=${clocks#*\[}
    echo "clock ${clocks%%\]*}"
    present=
    for event in $events; do
        if ! has_event "$event"; then
            echo "missing $event"
            stand_in "$event" || continue
        fi
        present="$present $event"
        echo "event $event"
    done
    case "$present " in
    *" $indispensable "*) ;;
    *) die "the target's kernel has no event $indispensable" \
        "use a kernel from 3.10 on with CONFIG_FTRACE and event tracing" ;;
    esac
    add_probes
}

# start_tracing: record all events that there are.
start_tracing() {
    for event in $present; do
        echo 1 >"$instance/events/${event%%:*}/${event#*:}/enable"
    done
    for name in $own; do
        echo 1 >"$instance/events/$group/$name/enable"
    done
    echo 1 >"$instance/tracing_on"
}

# stop_tracing DIRECTORY: end the recording of that job; what was recorded stays.
stop_tracing() {
    [ -e "$1/instances" ] || return 0
    while read -r made; do
        [ ! -e "$made/tracing_on" ] || echo 0 >"$made/tracing_on"
    done <"$1/instances"
}

# remove_tracing DIRECTORY: remove what the job has made in tracefs, and the mount.
remove_tracing() {
    # One that hangs, or whose host is gone, would keep its instance.
    [ ! -e "$1/reader" ] || kill "$(cat "$1/reader")"
    if [ -e "$1/instances" ]; then
        while read -r made; do
            [ ! -d "$made" ] || rmdir "$made"
            place=${made%/instances/*}
        done <"$1/instances"
    fi
    [ ! -e "$1/probes" ] || remove_probes "$1"
    if [ -e "$1/mounted" ]; then
        exec 6<&-
        read -r place <"$1/mounted"
        tries=0
        # A sleep that a killed maker has started still has it open, for a second.
        until umount "$place" || [ $tries -ge 20 ]; do
            nap
            tries=$((tries + 1))
        done
    fi
} 2>/dev/null

# print_trace: print what it takes to read the pages: their format, marks, statistics.
print_trace() {
    read -r place <"$job/tracing"
    set -- "$place/events/header_page" "$place/events/header_event"
    tracing=$place
    for event in $events; do
        has_event "$event" || stand_in "$event" || continue
        set -- "$@" "$place/events/${event%%:*}/${event#*:}/format"
    done
    if [ -e "$job/probes" ]; then
        read -r group <"$job/probes"
        set -- "$@" "$place/events/$group"/*/format
    fi
    grep -s '' "$@" | sed "s|^$place/events/|format |"
    read -r marks instance <"$job/pair"
    fact mark "$marks/trace"
    for cpu in "$instance"/per_cpu/cpu*; do
        fact "stats ${cpu##*/cpu}" "$cpu/stats"
    done
}

# pages CPU MOST PAGE_BYTES DATA_BYTES: print at most MOST pages of the CPU's buffer as they are,
# and on stderr how many. A read of an empty buffer would block: a page holds at most DATA_BYTES
# of events, so that so many pages are there as the unread bytes fill.
pages() {
    read -r _ instance <"$job/pair"
    entries=0 bytes=0
    while read -r key value _; do
        case $key in
        entries:) entries=$value ;;
        bytes:) bytes=$value ;;
        esac
    done <"$instance/per_cpu/cpu$1/stats"
    count=0
    if [ "$entries" != 0 ]; then
        count=1
        [ "${#bytes}" -gt 15 ] || count=$(((bytes + $4 - 1) / $4))
        [ $count -ge 1 ] || count=1
        [ $count -le "$2" ] || count=$2
        dd if="$instance/per_cpu/cpu$1/trace_pipe_raw" bs="$3" count="$count" 2>/dev/null &
        echo $! >"$job/reader"
        wait $!
        rm -f "$job/reader"
    fi
    echo "pages $count" >&2
}
