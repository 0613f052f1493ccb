# shellcheck shell=sh disable=SC2034,SC2154,SC2209
# The verbs of a job that watches the workload. The bios of every second go into a snapshot, and
# those of a period make a fingerprint (Moilanen, I/O Workload Fingerprinting in the
# Genetic-Library, Linux Symposium 2006). Where there are plans, knobs by fingerprint, the plan of
# a fingerprint that stays is in force, until another one stays, or until less gets done by it.
#
# Settings: period_s; watched (disks, all if empty); least_ios (fewer in a period are not workload);
# buffer_kib (per CPU: bounds what a busy second costs); patience (periods that a fingerprint stays
# before it counts); worse_percent; plans, a line "FINGERPRINT<tab>KNOB<tab>VALUE" each; lock_wait_s.

# ---- one second's bios ----

# take_second: record for a second and add up what was recorded. Between two recordings bios go
# unseen, so that the first one of each follows none.
take_second() {
    echo >"$instance/trace"
    echo 1 >"$instance/tracing_on"
    pause 1
    echo 0 >"$instance/tracing_on"
    sum_bios "$instance" >"$job/sums"
    read -r r w s f d j <"$job/sums"
    reads=$((reads + r)) writes=$((writes + w)) sectors=$((sectors + s))
    followers=$((followers + f)) distances=$((distances + d)) jumps=$((jumps + j))
}

# find_page_size: set page_bytes.
find_page_size() {
    page_bytes=4096
    while read -r key kib _; do
        case $key in KernelPageSize:) page_bytes=$((kib * 1024)) && return ;; esac
    done </proc/self/smaps
} 2>/dev/null

# classify: set fingerprint from the sums, empty where too little happened.
classify() {
    fingerprint=
    [ $((reads + writes)) -ge "$least_ios" ] || return 0
    type=write pattern=sequential size=small
    [ "$reads" -le $((2 * writes)) ] || type=read
    [ $((2 * jumps)) -le "$followers" ] || pattern=random
    [ $((sectors * 512)) -le $((page_bytes * (reads + writes))) ] || size=large
    fingerprint=$type-$pattern-$size
}

# ---- what gets done: bytes that processes read and write, by time that the disks are busy ----

# Bytes of the disks would not do: a window that is too large makes them more. Children that have
# ended are counted by their parents (fs/proc/base.c, do_io_accounting).
count_done() {
    done_bytes=0 busy_ms=0
    for file in /proc/[0-9]*/io; do
        [ "$file" != "/proc/$$/io" ] || continue
        while read -r key value; do
            case $key in rchar: | wchar:) done_bytes=$((done_bytes + value)) ;; esac
        done <"$file"
    done 2>/dev/null
    for disk in ${watched:-/sys/block/*}; do
        { read -r _ _ got _ _ _ put _ _ ticks _ <"/sys/block/${disk##*/}/stat"; } 2>/dev/null ||
            continue
        busy_ms=$((busy_ms + ticks))
        # Without accounting of processes the disks' sectors stand in.
        [ -e /proc/self/io ] || done_bytes=$((done_bytes + (got + put) * 512))
    done
}

# ---- plans ----

# decide: the period has this fingerprint; act when it has stayed for so many periods. One without
# a workload tells nothing, nor one in which less than nothing was done: a process that nobody
# waited for took with it what it had done in all its life.
decide() {
    [ -n "$fingerprint" ] && [ "$period_bytes" -ge 0 ] || return 0
    if [ "$fingerprint" != "$staying" ]; then
        staying=$fingerprint stayed=0 rates=''
    fi
    stayed=$((stayed + 1))
    [ "$period_ms" -le 0 ] || rates="$rates $((period_bytes / period_ms))"
    [ $stayed -eq "$patience" ] || return 0
    if [ "$in_force" != "$staying" ]; then
        # Disks count their busy time in ticks of some ms: a period may have none. Without a rate
        # before it, a plan could not be judged.
        if [ -n "$rates" ] || [ "$busy_ms" -eq 0 ]; then switch; else stayed=$((stayed - 1)); fi
    elif ! judge; then
        stayed=$((stayed - 1)) # one period more
    fi
}

# middle SIDE: set rate to the median of rates, and of two in the middle to the lower (SIDE 1) or
# the upper one (2); empty if there is none. The sum would be that of a process which ended while
# the others were counted: its bytes are its parent's then, and may be seen twice, or not at all.
middle() {
    # shellcheck disable=SC2086
    rate=$(printf '%s\n' $rates | sort -n | awk -v side="$1" '
        { rates[NR] = $0 }
        END { print rates[int((NR + side) / 2)] }')
}

# has_plan FINGERPRINT
has_plan() {
    case "$nl$plans" in *"$nl$1$tab"*) ;; *) return 1 ;; esac
}

# switch: put the plan of what stays in force; what was in force before is undone. One without a
# plan that differs in size only changes nothing: a window makes bios larger or smaller by itself.
switch() {
    plan=$staying
    case " $refused " in *" $plan "*) plan='' ;; esac
    has_plan "$plan" || plan=''
    [ "$plan" != "$in_force" ] || return 0
    [ -n "$plan" ] || [ "${staying%-*}" != "${in_force%-*}" ] || return 0
    put_all_back
    middle 1
    before_rate=$rate in_force=$plan stayed=0 rates=''
    if [ -n "$plan" ]; then
        say "applied $plan"
        apply_plan "$plan"
    else
        say "defaults $staying"
    fi
}

# apply_plan FINGERPRINT: set its knobs.
apply_plan() {
    while IFS=$tab read -r of knob value; do
        [ "$of" != "$1" ] || set_knob "$knob" "$value" >>"$job/said"
    done <<END
$plans
END
}

# judge: undo the plan in force for good if less is done by it than before, by worse_percent; fails
# if that cannot be determined yet. Of disks that do not say how long they are busy it never can.
judge() {
    [ -n "$before_rate" ] || return 0
    middle 2
    [ -n "$rate" ] || return
    [ $((rate * 100)) -lt $((before_rate * (100 - worse_percent))) ] || return 0
    refused="$refused $in_force"
    say "undone $in_force $before_rate $rate"
    put_all_back
    in_force=
}

put_all_back() {
    restore "$job" restored >>"$job/said"
}

say() {
    echo "$1" >>"$job/said"
    echo >&4
}

# ---- the watcher ----

# begin_watch ARGUMENT...: begin to watch, in the background, by this script with these arguments.
begin_watch() {
    need awk cat mkdir mkfifo mv rm rmdir sed sleep sort
    mkfifo "$job/wake" "$job/changed"
    : >"$job/said"
    if command -v setsid >/dev/null; then
        # shellcheck disable=SC2086
        setsid $shell "$0" "$@" </dev/null >"$job/log" 2>&1 &
    else
        (trap '' HUP && exec $shell "$0" "$@") </dev/null >"$job/log" 2>&1 &
    fi
}

# watch: own the job until it is finished, or the host is gone.
watch() {
    exec 9<>"$job/wake" 4<>"$job/changed"
    nl='
'
    if own_target >>"$job/said" && (make_bios) >>"$job/said"; then
        read -r instance <"$job/instances"
        watch_on
        put_all_back
    fi
    say "state over"
    while [ -e "$job/lease" ] && [ ! -e "$job/finish" ] && ! left_alone; do
        pause 2
    done
    undo "$job" restored
}

# own_target: note who owns the job; with plans that is who owns the knobs.
own_target() {
    start_of $$
    echo "$$ $started" >"$job/owner"
    if [ -n "$plans" ]; then
        take_lock && undo_leftovers || return
    fi
    # Kept open, or another foreread's end would unmount it.
    ! find_tracefs || exec 6<"$tracing"
}

# watch_on: period after period, until it is to end.
watch_on() {
    number_disks
    find_page_size
    select_bios "$instance"
    staying='' in_force='' refused='' stayed=0
    count_done
    while take_period; do
        classify
        say_period "${fingerprint:--} $reads $writes $sectors $followers $distances $jumps"
        decide
    done
}

# take_period: add up a period's seconds; fails when it is to end.
take_period() {
    last_bytes=$done_bytes last_ms=$busy_ms second=0
    reads=0 writes=0 sectors=0 followers=0 distances=0 jumps=0
    while [ "$second" -lt "$period_s" ]; do
        [ ! -e "$job/finish" ] && [ ! -e "$job/stop" ] && ! left_alone || return
        take_second
        second=$((second + 1))
    done
    count_done
    period_bytes=$((done_bytes - last_bytes)) period_ms=$((busy_ms - last_ms))
}

say_period() {
    say "period $1"
}

# left_alone: whether the host has not been heard of; there is no lease where there is no host.
left_alone() {
    [ -e "$job/lease" ] || return 1
    uptime
    read -r lease <"$job/lease"
    [ "$now" -ge "$lease" ]
}

# tell LINES SECONDS: print what was said after so many lines, after so many seconds at the latest.
tell() {
    exec 9<>"$job/changed"
    seconds=$2
    while
        news=$(sed -n "$(($1 + 1)),\$p" "$job/said")
        [ -z "$news" ] && [ "$seconds" -gt 0 ]
    do
        pause 1
        seconds=$((seconds - 1))
    done
    echo "$news"
    { read -r owner <"$job/owner"; } 2>/dev/null || return 0
    alive "$owner" || die "the watcher on the target died: $(sed -n '$p' "$job/log")" \
        "see why there: it may have been out of memory, or killed"
}

# stop: put everything back, and say so.
stop() {
    : >"$job/stop"
    echo >>"$job/wake"
}
