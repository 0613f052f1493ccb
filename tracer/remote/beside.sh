# shellcheck shell=sh disable=SC2034,SC2154,SC3045
# What a trial does beside its start, and a recording beside a load: the load of the scenario runs
# (load.sh) from before the start until after it. From the start's release on a replayer reads a
# prefetch list, settings change after a time, and the load follows the start into its control group.
# These are held before the caches are dropped, as the command is.
#
# scenario, load_path, load_mib and load_disk are what load.sh is given; scenario is "idle" for no load.
# replayer is "program", "script" or empty; the files replayer and list are in the job's folder.
# later has a line "SECONDS KNOB VALUE BEFORE" for each change, with tabs in between. watched_memory: see
# how much memory the command uses (memory.sh).

# hold_beside: start what runs beside, up to the point where it waits for release_beside.
hold_beside() {
    gates=0
    case $scenario in
    reader | writer) follows=yes ;;
    *) follows=${watched_memory:+${memory_kib:+alone}} ;; # whose disk is probed in the group
    esac
    [ -n "$replayer$later$follows$watched_memory" ] || return 0
    mkfifo "$job/beside" "$job/beside.held"
    # Both ends: a reader that opened it anew could meet the end of the helper before.
    exec 4<>"$job/beside.held" 7<>"$job/beside"
    [ -z "$replayer" ] || held_beside replay
    [ -z "$later" ] || held_beside change_later
    [ -z "$follows" ] || held_beside follow_start
    [ -z "$watched_memory" ] || held_beside watch_memory
}

# held_beside FUNCTION: start it, and wait until it waits: what it reads until then from the disk would
# count as somebody else's.
held_beside() {
    helper "$@"
    read -r _ <&4
    gates=$((gates + 1))
}

release_beside() {
    while [ "$gates" -gt 0 ]; do
        echo >&7
        gates=$((gates - 1))
    done
}

replay() {
    exec >/dev/null 2>"$job/replayer.said" 9>&-
    echo >"$job/beside.held"
    read -r _ <&7
    # shellcheck disable=SC2086
    case $replayer in
    program) exec "$job/replayer" "$job/list" ;;
    *) exec $shell "$job/replayer" "$job/list" ;;
    esac
}

change_later() {
    exec 9<>"$job/never"
    echo >"$job/beside.held"
    read -r _ <&7
    while IFS=$tab read -r seconds knob value before; do
        [ "$tick_s" != 1 ] || seconds=$((${seconds%.*} + 1)) # whole seconds only
        pause "$seconds"
        echo "$knob$tab$before$tab$value" >>"$job/journal"
        write_knob "$knob" "$value"
    done <<EOF
$later
EOF
}

# end_beside: print the bytes that the replayer has read and what it complained of, and have the
# settings as they were at the release, which is what is compared with the trial's.
end_beside() {
    [ -n "$replayer$later" ] || return 0
    while read -r pid; do
        [ -z "$replayer" ] || print_io after "$pid"
        kill "$pid" 2>/dev/null
    done <"$job/helpers"
    [ ! -s "$job/replayer.said" ] || echo "unloaded $(sed -n '1p' "$job/replayer.said")"
    while IFS=$tab read -r _ knob _ before; do
        [ -z "$knob" ] || write_knob "$knob" "$before"
    done <<EOF
$later
EOF
}

# start_load: start the load, and check that it is effective.
start_load() {
    [ "$scenario" != idle ] || return 0
    mkdir "$job/load"
    exec 0<>"$job/load.out"
    # shellcheck disable=SC2086
    $shell "$job/load.sh" "$scenario" "$load_path" "$load_mib" "$load_disk" "$job/load" \
        <"$job/load.in" >"$job/load.out" 2>/dev/null &
    start_of $!
    echo "$! $started" >"$job/load.pid"
    ask_load look
    [ -z "$why_not" ] || die "${why_not%%|*}" "${why_not#*|}"
}

# follow_start: from the release on, see which control group the start joins, and have the load join
# it: a wrapper joins one soon, or never.
follow_start() {
    exec 9<>"$job/never"
    find_group blkio <"/proc/$command/cgroup"
    last=$group looks=0
    echo >"$job/beside.held"
    read -r _ <&7
    while :; do
        { find_group blkio <"/proc/$command/cgroup"; } 2>/dev/null
        start_of "$command" # one that is exiting (PF_EXITING) is in no group of version 1
        [ -n "$started" ] && [ $((flags & 4)) = 0 ] || return 0
        if [ "$group" != "$last" ]; then
            last=$group
            echo "$group" >"$job/group"
            [ "$follows" = alone ] || echo "join $group" >"$job/load.in"
        fi
        looks=$((looks + 1))
        if [ $looks -lt 20 ]; then pause "$tick_s"; else pause 1; fi
    done
}

# ask_load KEY: check that the load is effective, or set why_not; print the bytes it has read.
ask_load() {
    why_not='' answer='' apart=''
    [ "$scenario" != idle ] || return 0
    read -r load <"$job/load.pid"
    echo >"$job/load.in"
    until read -r ${for_1s:+-t 1} answer; do
        ! alive "$load" || continue
        ! read -r ${for_1s:+-t 1} answer || break # it has just reported why it ended
        why_not="the $scenario of the scenario was killed|check that there is enough memory"
        return
    done
    case $answer in
    ready*)
        answer=${answer#ready} apart=${answer#*|}
        for bytes in ${answer%%|*}; do
            echo "io $1 $bytes"
        done
        ;;
    *) why_not=${answer#error } ;;
    esac
}
