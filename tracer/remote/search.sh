# shellcheck shell=sh disable=SC2034,SC2154
# A search for the paths of inodes, beside a recorder. It runs at the lowest priority, and the trace
# leaves out what it reads itself (kernel/trace/trace_events.c, set_event_notrace_pid, Linux 5.7).

# find_abilities: print "search inode" if the target's find compares inode numbers, and "search order"
# if it also says which is larger: busybox does not.
find_abilities() {
    ! find /proc/self/comm -inum 0 2>/dev/null || echo "search inode"
    [ -z "$(find /proc/self/comm -inum +0 2>/dev/null)" ] || echo "search order"
}

# begin_search WORD...: start find(1) with these words in the background. The words end where the
# action begins: find prints what it finds, or, if it cannot, a shell for each file.
begin_search() {
    read -r made <"$job/instances"
    lowest=
    ! command -v ionice >/dev/null || lowest="ionice -c 3"
    ! command -v nice >/dev/null || lowest="$lowest nice -n 19"
    # Else find keeps what it has found until its buffer is full.
    ! command -v stdbuf >/dev/null || lowest="$lowest stdbuf -o0"
    { echo 1 >"$made/options/event-fork"; } 2>/dev/null || :
    # shellcheck disable=SC2016,SC2086
    $shell -c '
        trap "" HUP
        { echo $$ >"$1/set_event_notrace_pid"; } 2>/dev/null
        lowest=$2 shell=$3
        shift 3
        ! find / -prune -printf "" 2>/dev/null || exec $lowest find "$@" -printf "%i %p\\0"
        exec $lowest find "$@" -exec $shell -c "
            set -f
            path=\$1
            set -- \$(ls -di -- \"\$path\")
            printf \"%s %s\\000\" \"\$1\" \"\$path\"" sh {} \;
    ' sh "$made" "$lowest" "$shell" "$@" </dev/null >"$job/found" 2>/dev/null &
    start_of $!
    echo "$! $started" >"$job/search"
    add_maker $!
}

# found BYTES: print "searching" or "over", and what the search has found after so many bytes: "INODE PATH"
# and a NUL each.
found() {
    read -r search <"$job/search"
    if alive "$search"; then echo searching; else echo over; fi
    {
        [ "$1" = 0 ] || dd bs="$1" count=1 of=/dev/null 2>/dev/null
        cat
    } <"$job/found"
}

# end_search: end it.
end_search() {
    read -r search <"$job/search"
    ! alive "$search" || kill -9 "${search% *}"
}
