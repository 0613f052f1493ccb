# shellcheck shell=sh disable=SC2034,SC2154
# ftrace instances of a job: one for the events, and one for the job's own marks, whose text has the
# times of start and end in the clock of the trace.

# find_tracefs: set tracing to its directory, mounting it if it is not. The job's name is the source
# of a mount, so that it is not mistaken for the system's own; the place is noted before.
find_tracefs() {
    tracing=/sys/kernel/debug/tracing
    # Looking into debugfs would mount tracefs there for good: kernels since 4.1 do that.
    [ -d /sys/kernel/tracing ] && ! is_mounted $tracing || [ ! -d $tracing/events ] || return 0
    tracing=/sys/kernel/tracing
    [ ! -d $tracing/events ] || return 0
    echo $tracing >"$job/mounted"
    if ! why=$(mount -t tracefs "${job##*/}" $tracing 2>&1); then
        echo /sys/kernel/debug >"$job/mounted"
        if mount -t debugfs "${job##*/}" /sys/kernel/debug 2>/dev/null; then
            tracing=/sys/kernel/debug/tracing
        else
            rm -f "$job/mounted"
        fi
    fi
    [ -d $tracing/events ]
}

# source_of PLACE: set mounted to the source of the mount that is visible there; empty if there is
# none.
source_of() {
    mounted=
    while read -r source point _; do
        [ "$point" != "$1" ] || mounted=$source
    done </proc/mounts
}

is_mounted() {
    source_of "$1"
    [ -n "$mounted" ]
}

is_ours() {
    source_of "$1"
    case $mounted in foreread-*) ;; *) return 1 ;; esac
}

# keep_tracefs: find tracefs and keep it mounted through descriptor 6. Another job that ends may
# unmount it at the same time.
keep_tracefs() {
    for _ in 1 2 3; do
        find_tracefs && { exec 6<"$tracing"; } 2>/dev/null && [ -d "$tracing/events" ] && return
    done
    return 1
}

# keep_debugfs: mount debugfs, which has knobs of its own, if it is not, and keep it mounted through
# descriptor 7. Without it these knobs cannot be set, which the facts of the run say.
keep_debugfs() {
    if ! is_mounted /sys/kernel/debug; then
        : >>"$job/mounted"
        mount -t debugfs "${job##*/}" /sys/kernel/debug 2>/dev/null || return 0
    fi
    { exec 7</sys/kernel/debug; } 2>/dev/null || :
}

# unmount_tracefs DIRECTORY: unmount what a job of foreread, perhaps another one, has mounted,
# unless others use it: the last job unmounts it.
unmount_tracefs() {
    tries=0
    [ -e "$1/mounted" ] || tries=20
    for place in /sys/kernel/tracing /sys/kernel/debug; do
        # A sleep that a killed maker started keeps it open for up to a second.
        while is_ours $place && ! umount $place && [ $tries -lt 20 ]; do
            nap
            tries=$((tries + 1))
        done
    done
}

# make_instance NAME BUFFER_KIB: set made to a new instance of that clock and size.
make_instance() {
    read -r owner <"$job/owner"
    made=$tracing/instances/foreread-${owner% *}-${owner#* }-$1
    echo "$made" >>"$job/instances"
    mkdir "$made" 2>/dev/null || die "cannot make a trace instance in $tracing/instances" \
        "use Linux 3.10 or later with CONFIG_FTRACE, and check that memory is free"
    echo 0 >"$made/tracing_on"
    echo mono 2>/dev/null >"$made/trace_clock"
    # Keep the beginning when the buffer is full: a start-up's first part is still exact. Not by
    # options/overwrite: Linux 6.18 crashes in a writer of it whose instance is removed meanwhile.
    echo nooverwrite >"$made/trace_options"
    (echo "$2" >"$made/buffer_size_kb") 2>/dev/null || die \
        "not enough memory for a trace buffer of $2 KiB per CPU" \
        "choose a smaller one: --buffer-kib KIB"
}

# has_event EVENT: whether this kernel has it.
has_event() {
    [ -d "$tracing/events/${1%%:*}/${1#*:}" ]
}

# stand_in EVENT: set event to the replacement for an event that the kernel lacks; fail if there is
# none.
stand_in() {
    for pair in $standins; do
        event=${pair#*=}
        [ "${pair%%=*}" != "$1" ] || ! has_event "$event" || return 0
    done
    return 1
}

# prepare_tracing: make both instances and print the available events.
prepare_tracing() {
    [ -d "$tracing/events" ] || die "cannot mount tracefs at $tracing: ${why##*: }" \
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
        "use Linux 3.10 or later with CONFIG_FTRACE and event tracing" ;;
    esac
    add_probes
}

# start_tracing: record all available events.
start_tracing() {
    for event in $present; do
        echo 1 >"$instance/events/${event%%:*}/${event#*:}/enable"
    done
    for name in $own; do
        echo 1 >"$instance/events/$group/$name/enable"
    done
    echo 1 >"$instance/tracing_on"
}

# stop_tracing DIRECTORY: stop the recording of that job; recorded events stay.
stop_tracing() {
    [ -e "$1/instances" ] || return 0
    while read -r made; do
        [ ! -e "$made/tracing_on" ] || echo 0 >"$made/tracing_on"
    done <"$1/instances"
}

# remove_tracing DIRECTORY: remove what the job made in tracefs, and the mount.
remove_tracing() {
    # A reader that hangs, or whose host is gone, would keep the instance busy.
    [ ! -e "$1/reader" ] || kill "$(cat "$1/reader")"
    if [ -e "$1/instances" ]; then
        while read -r made; do
            [ ! -d "$made" ] || rmdir "$made"
            place=${made%/instances/*}
        done <"$1/instances"
    fi
    [ ! -e "$1/probes" ] || remove_probes "$1"
    exec 6<&- 7<&-
    unmount_tracefs "$1"
} 2>/dev/null

# print_trace: print what is needed to decode the pages: formats, marks, statistics.
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

# pages CPU MOST PAGE_BYTES DATA_BYTES: print at most MOST pages of the CPU's buffer as raw data,
# and their number on stderr.
pages() {
    read -r _ instance <"$job/pair"
    count_pages "$instance/per_cpu/cpu$1" "$2" "$4"
    print_pages "$instance/per_cpu/cpu$1" "$3"
    echo "pages $count" >&2
}
