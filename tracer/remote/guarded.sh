# shellcheck shell=sh disable=SC2034,SC2154
# The verbs of a job that makes one cold run of a command. The next file of the script defines what
# happens around the run: prepare, begin, mark NAME, end and print_result. With as_found the caches stay
# as they are. One process on the target, the guard, owns the job. It restores everything when the run has ended, when the host has
# not called within its lease, or when the recorder has died.

# probe: print what the host needs to choose the settings.
probe() {
    need cat dd grep head ls mkdir mkfifo mv rm rmdir sed sleep sync uname
    fact kernel /proc/sys/kernel/osrelease
    fact version /proc/sys/kernel/version
    fact nodename /proc/sys/kernel/hostname
    echo "machine $(uname -m)"
    fact cpus /sys/devices/system/cpu/online
    fact uptime /proc/uptime
    fact meminfo /proc/meminfo
    fact cpuinfo /proc/cpuinfo
    model=''
    { read -r model </proc/device-tree/model || :; } 2>/dev/null
    echo "board $model"
    fact mount /proc/self/mountinfo
    grep KernelPageSize /proc/self/smaps | sed -n 's/^/page /;1p'
    # EI_DATA of an ELF header: 2 is big-endian
    order=$(dd if=/proc/self/exe bs=1 skip=5 count=1 2>/dev/null)
    [ "$order" = "$(printf '\002')" ] && echo "order big" || echo "order little"
    # GNU's cat asks for sequential reading (POSIX_FADV_SEQUENTIAL); those of busybox and toybox do not.
    ! cat --version 2>/dev/null | grep -q GNU && echo "cat other" || echo "cat gnu"
    for applet in setsid su tee find; do
        ! command -v $applet >/dev/null || echo "applet $applet"
    done
    # sysfs has this folder with CONFIG_TRANSPARENT_HUGEPAGE alone (mm/huge_memory.c).
    [ ! -d /sys/kernel/mm ] || [ -d /sys/kernel/mm/transparent_hugepage ] || echo "lacks huge_pages"
    print_disks
    print_squashfs
}

# start [GUARD]: start the job in the background; the process that owns the job runs the function
# GUARD.
start() {
    guard=${1:-guard}
    grep -q '^Uid:[[:space:]]*0[[:space:]]' /proc/self/status ||
        die "this needs root on the target" "log in as root, as in --target ssh://root@BOARD"
    [ -z "$user" ] || grep -q "^$user:" /etc/passwd ||
        die "the target has no user $user" "see its /etc/passwd for the users"
    [ -z "$user" ] || need su
    [ -z "$until_output" ] || need tee
    [ -z "$until_output" ] || grep -E -q -e "$until_output" /dev/null || [ $? -lt 2 ] ||
        die "grep on the target does not take $until_output" "see regex(7), extended expressions"
    cd "$directory" 2>/dev/null || die "the target has no folder $directory" "give another"
    run_command find_executable
    mkfifo "$job/wake" "$job/changed" "$job/next" "$job/load.in" "$job/load.out"
    if [ -n "$own_session" ]; then
        # shellcheck disable=SC2086
        $own_session $shell "$job/job.sh" - "$guard" </dev/null >"$job/log" 2>&1 &
    else
        (trap '' HUP && exec $shell "$job/job.sh" - "$guard") </dev/null >"$job/log" 2>&1 &
    fi
    echo started
}

# locate: print the path of the executable that the command's name leads to.
locate() {
    need readlink
    cd "$directory" 2>/dev/null || die "the target has no folder $directory" "give another"
    run_command find_executable
    echo "executable $(readlink -f "$executable")"
}

# guard: own the job until it has finished or the host is gone.
guard() {
    exec 9<>"$job/wake" 4<>"$job/changed" 5<>"$job/load.in"
    if ! take_lock >"$job/facts"; then
        conclude
        [ ! -d "$job" ] || pause 30
        rm -rf "$job"
        return
    fi
    undo_leftovers >"$job/leftovers"
    # Kept open so that another foreread, when it ends, does not unmount it. If it is missing,
    # prepare reports that.
    keep_tracefs
    [ -z "${debugfs-}" ] || keep_debugfs
    (
        make_run >"$job/facts"
        : >"$job/recorded"
        echo >&9
    ) 3>&- 4>&- 5>&- &
    echo $! >"$job/recorder"
    add_maker $!
    while [ ! -e "$job/finish" ]; do
        pause 2
        ! has_expired "$job/lease" || break
        [ -e "$job/state" ] || settle
    done
    undo "$job" restored
}

# settle: once the recorder has ended, restore everything except what the host still has to read.
settle() {
    if [ ! -e "$job/recorded" ]; then
        read -r recorder <"$job/recorder"
        start_of "$recorder"
        [ -z "$started" ] || return 0
    fi
    stop_tracing "$job"
    [ -e "$job/keep" ] || end_command "$job" restored
    end_load "$job"
    remove_memory_group "$job"
    restore "$job" restored >"$job/restored"
    # The knobs are free for others now, so a dead host may be waited for longer than during a run.
    release_lock "$job"
    exec 3>&-
    conclude
}

# conclude: report to the host that the recorder has ended, and how.
conclude() {
    state=over
    [ -e "$job/recorded" ] || state="error the recorder on the target died: $(sed -n '$p' "$job/log")\
|see why there: it may have been out of memory, or killed"
    grep '^error ' "$job/facts" >"$job/state.new" || echo "$state" >"$job/state.new"
    mv "$job/state.new" "$job/state"
    echo >&4
}

# make_run: make the run and print its facts.
make_run() {
    read -r recorder _ </proc/self/stat
    echo "$recorder" >"$job/recorder"
    add_maker "$recorder"
    trap : USR1
    run_command find_executable
    set_knobs || die "$job is full" "make room in memory"
    cat "$job/set"
    [ -z "$all_knobs" ] || ! grep -q -e '^unset ' -e '^moved ' "$job/set" || return 0
    prepare
    start_watchers
    make_memory_group
    run_command hold "$executable"
    join_memory_group
    rehearse_end
    [ -n "${as_found-}" ] || make_cold
    begin
    if [ -n "${as_found-}" ]; then
        echo "as_found $as_found"
    else
        untraced displace_squashfs
        drop_caches
    fi
    begin_counting
    : >"$job/released"
    mark start
    release_and_wait
    end
    check_knobs
    print_run
}

# make_cold: drop the caches, or fail.
make_cold() {
    drop_and_prove "$allowed_kib"
    case $? in
    1) die "the caches of the target cannot be dropped" "reach it as root" ;;
    2) die "the target's caches are not cold ($cached KiB are cached, $pinned KiB mapped)" \
        "end what reads files meanwhile, or accept it with --allow-warm" ;;
    esac
}

# untraced COMMAND...: run it without recording events of it, which would fill the buffers.
untraced() {
    [ -z "${instance-}" ] || echo 0 >"$instance/tracing_on"
    "$@"
    [ -z "${instance-}" ] || echo 1 >"$instance/tracing_on"
}

# set_knobs: set each knob, and write to the file "set" what became of it. With all_knobs, write them
# once more if one does not have its value when all are set: another program may have written it.
set_knobs() {
    while IFS=$tab read -r knob wanted; do
        [ -z "$knob" ] || set_knob "$knob" "$wanted" || return
    done >"$job/set" <<EOF
$knobs
EOF
    displaced >"$job/displaced"
    if [ -n "$all_knobs" ] && [ -s "$job/displaced" ]; then
        write_again
        displaced >"$job/displaced"
        [ ! -s "$job/displaced" ] || watch_displaced >"$job/moved"
    fi
    cat "$job/now" >>"$job/set"
    [ ! -e "$job/moved" ] || cat "$job/moved" >>"$job/set"
}

# write_again: write every knob, also those that have their value.
write_again() {
    while IFS=$tab read -r knob wanted; do
        write_knob "$knob" "$wanted"
    done <<EOF
$knobs
EOF
} 2>/dev/null

# print_now: print "now KNOB VALUE" for all knobs, since setting one may change another.
print_now() {
    while IFS=$tab read -r knob _; do
        ! value_of "$knob" || echo "now $knob$tab$value"
    done <<EOF
$knobs
EOF
}

# displaced: write to the file "now" what print_now prints; of that, print "KNOB VALUE" of each knob
# that took this value, and has another one. What is judged is what is reported: each knob is read
# once, since another program may write it between two reads.
displaced() {
    print_now >"$job/now"
    grep '^knob ' "$job/set" | while IFS=$tab read -r knob _ taken; do
        knob=${knob#knob }
        value=$(grep -F "now $knob$tab" "$job/now") || continue
        [ "${value#*"$tab"}" = "$taken" ] || echo "$knob$tab$taken"
    done
}

# watch_displaced: set these knobs alone, and report those that change while the job writes nothing:
# another program sets them, and not another knob of the job. Then have all knobs as they were.
watch_displaced() {
    while IFS=$tab read -r knob taken; do
        write_knob "$knob" "$taken"
    done <"$job/displaced" 2>/dev/null
    sleep 1
    report_moved <"$job/displaced"
    write_again
}

# check_knobs: after the run, report the knobs that another program has changed meanwhile.
check_knobs() {
    sed -n 's/^now //p' "$job/set" | report_moved
}

# print_run: print the outcome of the run, and what the living processes of the command map.
print_run() {
    uptime
    idle_since=$now
    [ "$why" != idle ] || read -r idle_since <"$job/idle_since"
    [ -z "$keep_running" ] || : >"$job/keep"
    ! grep -q "^unexecuted ${job##*-}\$" "$job/stderr" ||
        die "the command cannot be executed" "run it by hand on the target first"
    living "$job" restored
    # shellcheck disable=SC2086
    set -- $pids
    echo "run $command $why ${status:--} $((now - idle_since)) $#"
    for process; do
        [ -n "${without_maps-}" ] || fact map "/proc/$process/maps"
        print_io after "$process"
    done
}

# print_io KEY PID: print the bytes that the process and the children it has waited for read from
# disks; nothing if the kernel does not count them (CONFIG_TASK_IO_ACCOUNTING).
print_io() {
    while read -r name number; do
        [ "$name" != read_bytes: ] || echo "io $1 $number"
    done <"/proc/$2/io"
} 2>/dev/null

# await SECONDS: print the state of the job when it ends, or after SECONDS.
await() {
    exec 9<>"$job/changed"
    seconds=$1
    while [ "$seconds" -gt 0 ] && [ ! -e "$job/state" ]; do
        pause 1
        seconds=$((seconds - 1))
    done
    if [ -e "$job/state" ]; then
        ! grep '^error ' "$job/state" || exit 1
        echo "state over"
    else
        expect_guard
        echo "state running"
    fi
}

# stop: end the run and keep its result; prints "state early" if it has not begun.
stop() {
    if [ -e "$job/released" ]; then
        over signal
    else
        echo state early
    fi
}

# result: print all facts of the run except the trace pages.
result() {
    cat "$job/facts" "$job/leftovers" "$job/restored"
    print_result
}

# output STREAM: print the part of the command's output that was kept.
output() {
    cat "$job/$1"
}
