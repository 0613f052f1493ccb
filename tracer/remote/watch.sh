# shellcheck shell=sh disable=SC2034,SC2154,SC2209
# The verbs of a job that watches the workload. Each second of bios makes a snapshot, and those of a
# period make a fingerprint (Moilanen, I/O Workload Fingerprinting in the Genetic-Library, Linux
# Symposium 2006). A plan assigns knobs to a fingerprint. When a fingerprint persists, its plan is
# put in force until another one persists, or until the throughput has dropped.
#
# Settings: period_s; watched (disks, all if empty); least_ios (a period with fewer has no
# workload); buffer_kib (per CPU: limits the cost of a busy second); patience (periods that a
# fingerprint must persist before it counts); worse_percent; plans, a line
# "FINGERPRINT<tab>KNOB<tab>VALUE" each; lock_wait_s.

# ---- the bios of one second ----

# take_second: record for a second and add the sums. Bios between two recordings are not seen, so
# the first bio of each recording has no known predecessor.
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

# classify: set fingerprint from the sums; empty if there were too few bios.
classify() {
    fingerprint=
    [ $((reads + writes)) -ge "$least_ios" ] || return 0
    type=write pattern=sequential size=small
    [ "$reads" -le $((2 * writes)) ] || type=read
    [ $((2 * jumps)) -le "$followers" ] || pattern=random
    [ $((sectors * 512)) -le $((page_bytes * (reads + writes))) ] || size=large
    fingerprint=$type-$pattern-$size
}

# ---- throughput: bytes that processes read and write per busy time of the disks ----

# Not the bytes of the disks: a window that is too large increases them. Parents count their ended
# children (fs/proc/base.c, do_io_accounting).
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
        # Without I/O accounting of processes, use the disks' sectors.
        [ -e /proc/self/io ] || done_bytes=$((done_bytes + (got + put) * 512))
    done
}

# ---- plans ----

# decide: act on the period's fingerprint when it has persisted for patience periods. Ignore periods
# without a workload, and periods with negative bytes: a process that nobody waited for has ended,
# and its bytes went with it.
decide() {
    [ -n "$fingerprint" ] && [ "$period_bytes" -ge 0 ] || return 0
    if [ "$fingerprint" != "$staying" ]; then
        staying=$fingerprint stayed=0 rates=''
    fi
    stayed=$((stayed + 1))
    [ "$period_ms" -le 0 ] || rates="$rates $((period_bytes / period_ms))"
    [ $stayed -eq "$patience" ] || return 0
    if [ "$in_force" != "$staying" ]; then
        # Disks count their busy time in ticks of some ms: a period may have none. Without an
        # earlier rate, a plan cannot be judged.
        if [ -n "$rates" ] || [ "$busy_ms" -eq 0 ]; then switch; else stayed=$((stayed - 1)); fi
    elif ! judge; then
        stayed=$((stayed - 1)) # one period more
    fi
}

# middle SIDE: set rate to the median of rates; of two middle values to the lower (SIDE 1) or the
# upper (SIDE 2); empty without rates. Not the mean: when a process ends during the count, its bytes
# move to its parent and may be counted twice or not at all.
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

# switch: undo the plan in force, and apply the plan of the persisting fingerprint. A fingerprint
# without a plan that differs only in size changes nothing: the window itself makes bios larger or
# smaller.
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

# judge: undo the plan in force permanently if the throughput is lower than before by worse_percent;
# fails if that cannot be determined yet. It never can for disks that do not count busy time.
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

# begin_watch ARGUMENT...: start the watcher in the background: this script with these arguments.
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

# own_target: note the owner of the job; with plans, also take the lock of the knobs.
own_target() {
    start_of $$
    echo "$$ $started" >"$job/owner"
    if [ -n "$plans" ]; then
        take_lock && undo_leftovers || return
    fi
    # Kept open so that another foreread, when it ends, does not unmount it.
    ! find_tracefs || exec 6<"$tracing"
}

# watch_on: one period after another, until asked to end.
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

# take_period: add up the seconds of a period; fails when asked to end.
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

# left_alone: whether the host's lease has expired; without a host there is no lease.
left_alone() {
    [ -e "$job/lease" ] || return 1
    uptime
    read -r lease <"$job/lease"
    [ "$now" -ge "$lease" ]
}

# tell LINES SECONDS: print the output after the first LINES lines, waiting for more at most
# SECONDS.
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
        "look at the target's kernel log: it may have been killed, or out of memory"
}

# stop: restore everything, and report it.
stop() {
    : >"$job/stop"
    echo >>"$job/wake"
}
