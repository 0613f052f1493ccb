# shellcheck shell=sh disable=SC2034,SC2154,SC2209
# The verbs of a job that watches the workload. Each second of bios makes a snapshot, and those of a
# period make a fingerprint (Moilanen, I/O Workload Fingerprinting in the Genetic-Library, Linux
# Symposium 2006). plans.sh decides which settings are in force.
#
# Settings: period_s; watched (disks, all if empty); least_ios (a period with fewer has no
# workload); buffer_kib (per CPU: limits the cost of a busy second); lock_wait_s; by_process (not
# empty: count processes, too); patterns (see find_pattern); those of plans.sh.

# ---- the bios of one second ----

# take_second: record for a second and add the sums. Bios between two recordings are not seen, so
# the first bio of each recording has no known predecessor.
take_second() {
    echo >"$instance/trace"
    echo 1 >"$instance/tracing_on"
    pause 1
    echo 0 >"$instance/tracing_on"
    sum_bios "$instance" >"$job/sums"
    read -r r w s f d j p of oj <"$job/sums"
    reads=$((reads + r)) writes=$((writes + w)) sectors=$((sectors + s))
    followers=$((followers + f)) distances=$((distances + d)) jumps=$((jumps + j))
    [ -n "$by_process" ] && [ $((r + w)) -gt 0 ] || return 0
    seconds_busy=$((seconds_busy + 1)) processes=$((processes + p))
    own_followers=$((own_followers + of)) own_jumps=$((own_jumps + oj))
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

# own_sums: set own to the sums by process, the number of processes being that of a usual second.
own_sums() {
    own=''
    [ -n "$by_process" ] || return 0
    if [ "$seconds_busy" -gt 0 ]; then
        processes=$(((2 * processes + seconds_busy) / (2 * seconds_busy)))
    fi
    own=" $processes $own_followers $own_jumps"
}

# find_pattern: set fingerprint to the learnt pattern that is nearest to the period's, if one is
# within IOPerf's clearance. A line of patterns is "NAME PROCESSES READ RANDOM KIB"; NAME is a
# fingerprint and "_NUMBER". While a pattern's settings are in force, it stays if the size alone is
# another: the window itself makes bios larger or smaller. (analyzer/tuner/engines/patterns.py has
# the same in Python.)
find_pattern() {
    bios=$((reads + writes))
    [ -n "$patterns" ] && [ -n "$fingerprint" ] && [ "$bios" -gt 0 ] || return 0
    random=0
    [ "$own_followers" -eq 0 ] ||
        random=$(((200 * own_jumps + own_followers) / (2 * own_followers)))
    found=$(echo "$patterns" | awk -v n="$processes" -v read="$(((200 * reads + bios) / (2 * bios)))" \
        -v random="$random" -v kib="$(((sectors + bios) / (2 * bios)))" -v now="$in_force" '
        function range(share) { return (share > 4) + (share > 34) + (share > 64) + (share > 94) }
        function alike(a, b) { a = range(a) - range(b); return 1 - (a < 0 ? -a : a) / 4 }
        BEGIN {
            if (n < 1) n = 1
            if (n > 8) n = 8
            if (kib > 2047) kib = 2047
            best = -1
        }
        {
            many = $2 < n ? $2 / n : n / $2
            size = 1 - ($5 < kib ? kib - $5 : $5 - kib) / 2047
            if (many < 0.8 || alike($3, read) < 1 || alike($4, random) < 1) next
            if ($1 == now) { best = 9; name = now }
            if (size < 0.7) next
            likeness = 0.8 * many + 2 + 0.7 * size
            if (likeness > best) { best = likeness; name = $1 }
        }
        END { if (best >= 0) print name }')
    fingerprint=${found:-$fingerprint}
}

say() {
    echo "$1" >>"$job/said"
    echo >&4
}

# ---- the watcher ----

# begin_watch ARGUMENT...: start the watcher in the background: this script with these arguments.
begin_watch() {
    need awk cat mkdir mkfifo mv rm rmdir sed sleep sort
    : >"$job/said"
    begin_owner "$@"
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
    stay_until_finished
}

# own_target: note the owner of the job; with plans, also take the lock of the knobs.
own_target() {
    own_job
    if [ -n "$plans" ]; then
        take_lock && undo_leftovers || return
    fi
    keep_tracefs || :
}

# watch_on: one period after another, until asked to end.
watch_on() {
    number_disks
    find_page_size
    select_bios "$instance"
    begin_plans
    count_done
    while take_period; do
        classify
        own_sums
        find_pattern
        say_period "${fingerprint:--} $reads $writes $sectors $followers $distances $jumps$own"
        find_latency
        decide
    done
}

# take_period: add up the seconds of a period; fails when asked to end.
take_period() {
    last_bytes=$done_bytes last_ms=$busy_ms last_requests=$requests second=0
    reads=0 writes=0 sectors=0 followers=0 distances=0 jumps=0
    seconds_busy=0 processes=0 own_followers=0 own_jumps=0
    while [ "$second" -lt "$period_s" ]; do
        [ ! -e "$job/finish" ] && [ ! -e "$job/stop" ] && ! has_expired "$job/lease" || return
        take_second
        second=$((second + 1))
    done
    count_done
    period_bytes=$((done_bytes - last_bytes)) period_ms=$((busy_ms - last_ms))
}

say_period() {
    say "period $1"
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
