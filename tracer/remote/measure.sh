# shellcheck shell=sh disable=SC2034,SC2154,SC3045
# What a trial does around its run: takes the time, reads the counters of disks, memory and processors
# and, if watched names disks, records their bios (bios.sh). beside.sh has the load of the scenario.

# prepare: make an ftrace instance whose marks have microsecond times, if the kernel supports it;
# once for all runs of a series.
prepare() {
    [ -z "${prepared-}" ] || return 0
    prepared=yes marks=
    if (find_tracefs && make_instance marks 16) >/dev/null 2>&1; then
        read -r marks <"$job/instances"
        echo 1 >"$marks/tracing_on"
    fi
    if [ -n "$watched" ]; then
        need awk
        make_bios
        number_disks
        select_bios "$made"
        bios=$made
    fi
}

begin() {
    hold_beside
    start_load
    count look
    sleep 0.3 2>/dev/null || sleep 1
    count looked
}

# begin_counting: read the counters once the caches are cold: what made them cold is not the run's.
begin_counting() {
    ask_load before
    [ -z "$why_not" ] || die "${why_not%%|*}" "${why_not#*|}"
    count before
    print_io before "$recorder"
    [ -z "$watched" ] || echo 1 >"$bios/tracing_on"
}

# try_load: start the load, check that it is effective, and end it.
try_load() {
    take_lock || exit 1
    undo_leftovers >/dev/null
    mkfifo "$job/load.in" "$job/load.out"
    exec 5<>"$job/load.in"
    trap 'end_load "$job"; release_lock "$job"' EXIT
    trap 'exit 1' HUP INT TERM
    (start_load) 5>&- || exit 1 # a load that held its own input open would not end
}

# mark NAME: note the time; with a resolution of 0.01 s if the kernel has no marks. With the start,
# release what runs beside it (beside.sh).
mark() {
    if [ -n "$marks" ]; then
        echo "$1" >"$marks/trace_marker"
    else
        uptime
        echo "uptime $1 $now"
    fi
    [ "$1" != start ] || release_beside
}

end() {
    [ -z "$watched" ] || echo 0 >"$bios/tracing_on"
    count after
    print_io after "$recorder"
    end_beside
    ask_load after
    print_kills
    [ -z "$why_not" ] || echo "unloaded $why_not"
    [ -z "$apart" ] || echo "apart $apart"
    [ -z "$watched" ] || echo "bios $(sum_bios "$bios")"
}

print_result() {
    { read -r marks <"$job/instances"; } 2>/dev/null || return 0
    fact mark "$marks/trace"
}

# count KEY: print all counters, as "KEY FILE LINE"; the events of /proc/vmstat, which are many,
# only of the run and if requested. No program is started: on a slow CPU each takes as long as a
# small start-up, and the caches are cold.
count() {
    for disk in $counted; do
        read -r line <"/sys/block/$disk/stat" && echo "$1 disk:$disk $line"
    done
    case $1 in
    look*) ;;
    *) [ -z "${vmstat-yes}" ] || each_line /proc/vmstat print_event "$1" ;;
    esac
    for resource in cpu io memory; do
        while read -r line; do
            echo "$1 pressure:$resource $line"
        done <"/proc/pressure/$resource"
    done
    read -r line </proc/stat && echo "$1 stat $line"
} 2>/dev/null

print_event() {
    case $2 in nr_*) ;; *) echo "$1 vmstat $2" ;; esac
}

# check_shim: die if the command cannot preload the shim of the job. The loader lists what it would
# load; of a script, whose programs are not known, nothing is checked.
check_shim() {
    need chmod head tr
    cd "$directory" 2>/dev/null || die "the target has no folder $directory" "give another"
    run_command find_executable
    [ -z "$user" ] || chmod o+x "$job"
    [ "$(head -c 2 "$executable" | tr '\000' .)" != '#!' ] || return 0
    { [ ! -u "$executable" ] && [ ! -g "$executable" ]; } ||
        die "the loader preloads nothing for $executable, which is set-user-ID or set-group-ID" \
            "change the application: the row names the file with the lines"
    loader=$(head -c 4096 "$executable" | tr -c '!-~' '\n' | grep '^/.*/ld[^/]*\.so[.0-9]*$' |
        sed -n 1p)
    [ -n "$loader" ] || die "$executable is statically linked: it can preload nothing" \
        "change the application: the row names the file with the lines"
    loads=$(LD_PRELOAD=$job/shim.so "$loader" --list "$executable" 2>&1)
    case $loads in
    *"$tab$job/shim.so "*) ;;
    *) die "$loader cannot load the shim" "build foreread-advice.c with the target's compiler" ;;
    esac
}

# knobs PATTERN...: print "is KNOB VALUE" of each that can be read. Selects every scheduler that a
# disk offers once, to read its tunables, and every alternative of a mount option.
knobs() {
    take_lock || exit 1
    undo_leftovers >/dev/null
    trap 'restore "$job" restored; release_lock "$job"' EXIT
    trap 'exit 1' HUP INT TERM
    print_knobs "$@"
    for pattern; do
        case $pattern in mount:*) print_choices "$pattern" ;; esac
        for knob in $pattern; do
            case $knob in */queue/scheduler) ;; *) continue ;; esac
            for name in $(tr -d '[]' <"$knob"); do
                set_knob "$knob" "$name"
                print_knobs "$@"
            done
        done
    done
}

# print_choices KNOB: print "is KNOB ONE [IN FORCE]..." of the alternatives that the file system
# accepts for a mount option, or its number.
print_choices() {
    mount_value "$1" || return 0
    found=$value choices=''
    case $words in
    *=) choices=" $found" ;;
    *)
        alternatives=$words,
        while [ -n "$alternatives" ]; do
            name=${alternatives%%,*} alternatives=${alternatives#*,}
            set_knob "$1" "$name"
            [ "$value" = "$name" ] || continue
            [ "$name" != "$found" ] || name="[$name]"
            choices="$choices $name"
        done
        ;;
    esac
    echo "is $1$tab${choices# }"
}

# print_knobs PATTERN...: print "is KNOB VALUE" of each that can be read.
print_knobs() {
    for pattern; do
        for readable in $pattern; do
            [ ! -f "$readable" ] || sed "s|^|is $readable$tab|" "$readable"
        done
    done 2>/dev/null
}
