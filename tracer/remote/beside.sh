# shellcheck shell=sh disable=SC2154
# What a trial does beside its start, from its release on: a replayer reads a prefetch list, settings
# change after a time, and the load follows the start into its control group. All are held before the caches are dropped, as the command is.
#
# replayer is "program", "script" or empty; the files replayer and list are in the job's folder.
# later has a line "SECONDS KNOB VALUE BEFORE" for each change, with tabs in between.

# hold_beside: start what runs beside, up to the point where it waits for release_beside.
hold_beside() {
    gates=0
    case $scenario in
    reader | writer) follows=yes ;;
    *) follows='' ;;
    esac
    [ -n "$replayer$later$follows" ] || return 0
    mkfifo "$job/beside" "$job/beside.held"
    exec 7<>"$job/beside"
    [ -z "$replayer" ] || held_beside replay
    [ -z "$later" ] || held_beside change_later
    [ -z "$follows" ] || held_beside follow_start # the load (measure.sh)
}

# held_beside FUNCTION: start it, and wait until it waits: what it reads until then from the disk would
# count as somebody else's.
held_beside() {
    helper "$@"
    read -r _ <"$job/beside.held"
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
