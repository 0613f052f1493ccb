# shellcheck shell=sh disable=SC2034,SC2154
# A job that records one boot. The hook (boot_hook.sh) starts it on the target before the host can
# reach that; the host adopts it when the target answers. Comes after record.sh.

# claim: fail if another foreread holds the settings of this target, which a reboot would end, or if
# the target cannot look for the message that ends the boot.
claim() {
    take_lock || exit 1
    release_lock "$job"
    [ -z "$until_output" ] || grep -E -q -e "$until_output" /dev/null || [ $? -lt 2 ] ||
        die "grep on the target does not take $until_output" "see regex(7), extended expressions"
}

# boot: own the recording. Descriptor 8 is the hook's fifo: "begun" lets the boot go on.
boot() {
    extend "$boot_s"
    mkfifo "$job/wake" "$job/changed" "$job/load.in" "$job/ends" "$job/never"
    guard
}

# make_run: record from now until the boot is over, and print the facts, as of any run. The caches
# stay as the boot has filled them: a boot that is not recorded has these pages here, too.
make_run() {
    read -r recorder _ </proc/self/stat
    echo "$recorder" >"$job/recorder"
    add_maker "$recorder"
    trap 'echo over >&8' EXIT
    exec 5<>"$job/ends"
    set_knobs || die "$job is full" "make room in memory"
    cat "$job/set"
    prepare
    echo "from $boot_from"
    print_processes
    note_mapped
    start_tracing
    count_cached
    echo "restarted $cached $pinned"
    sed 's/^/before /' "$job/read_before"
    start_enders
    : >"$job/released"
    echo begun >&8
    kill "$watch" "$sleeper"
    read -r why <&5
    print_late
    check_knobs
    echo "run 1 $why - 0 0"
}

# print_processes: the processes that run already and are not the recorder's own.
print_processes() {
    { read -r watch <"$job/watch" && read -r sleeper <"$job/sleeper"; } || watch='' sleeper=''
    for process in /proc/[0-9]*; do
        process=${process#/proc/}
        case " $$ $PPID $recorder $watch $sleeper " in
        *" $process "*) ;;
        *) [ -z "$(tr -d '\000' <"/proc/$process/cmdline")" ] || echo "process $process" ;;
        esac
    done 2>/dev/null
}

# start_enders: what ends the recording besides the hook.
start_enders() {
    [ -z "$duration_s" ] || helper end_after_duration
    [ -z "$until_output" ] || helper end_at_message
}

end_after_duration() {
    exec 9<>"$job/never"
    [ "$tick_s" != 1 ] || duration_s=$((${duration_s%.*} + 1)) # whole seconds only
    pause "$duration_s"
    boot_over duration
}

# end_at_message: when the kernel's log has a matching line, which programs may write, too.
end_at_message() {
    ! grep -E -q -e "$until_output" </dev/kmsg || boot_over output
}

# boot_over WHY: mark the end. The hook does the same by itself.
boot_over() {
    read -r marks instance <"$job/pair"
    echo end >"$marks/trace_marker"
    echo 0 >"$instance/tracing_on"
    echo "$1" >&5
}

# print_late: the disks that were first read after the recording began, and had default windows.
print_late() {
    for stat in /sys/block/*/stat; do
        read -r requests _ <"$stat" || continue
        disk=${stat%/stat}
        case $requests:$knobs in
        0:* | *"/sys/block/${disk##*/}/"*) ;;
        *) grep -q "^${disk##*/} " "$job/read_before" || echo "late ${disk##*/}" ;;
        esac
    done
} 2>/dev/null

# stop: end the recording before the boot is over.
stop() {
    boot_over signal 5<>"$job/ends"
}
