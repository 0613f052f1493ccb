#!/bin/sh
# Runs on the board: one trial for each line "SCENARIO SCHEDULER READ_AHEAD_KB SWAPPINESS" of its
# input, and a line for each of what came of it: the four words, the command's exit status, guest
# ns, requests and sectors read from the disk, pages swapped in and out. A trial that cannot be
# made is a line "error TEXT". The knobs are put back at the end.
#
# usage: sh trials.sh FOLDER ROOM_MIB LIMIT_S COMMAND...
#   FOLDER    in memory, has load.sh
#   ROOM_MIB  what the scenario memory leaves
#   LIMIT_S   a command that takes longer is ended
set -u
folder=$1 room_mib=$2 limit_s=$3
shift 3
disk=slow0
queue=/sys/block/$disk/queue
clock=/sys/module/slowdisk/parameters/now_ns

# set_knobs SCHEDULER READ_AHEAD_KB SWAPPINESS: and see that they are taken.
set_knobs() {
    { echo "$1" >$queue/scheduler && echo "$2" >$queue/read_ahead_kb &&
        echo "$3" >/proc/sys/vm/swappiness; } 2>/dev/null
    case $(cat $queue/scheduler) in *"[$1]"*) ;; *) return 1 ;; esac
    [ "$(cat $queue/read_ahead_kb)" = "$2" ] && [ "$(cat /proc/sys/vm/swappiness)" = "$3" ]
}

# start_load SCENARIO: as a trial does; it is asked through 7 and answers through 8.
start_load() {
    path='' mib=0
    [ "$1" != reader ] || path=/bigfile
    [ "$1" != memory ] || mib=$room_mib
    mkdir "$folder/load"
    mkfifo "$folder/load/in" "$folder/load/out"
    sh "$folder/load.sh" "$1" "$path" "$mib" $disk "$folder/load" \
        <"$folder/load/in" >"$folder/load/out" 2>/dev/null &
    load=$!
    exec 7>"$folder/load/in" 8<"$folder/load/out"
}

# prove_load: fail unless it does its work.
prove_load() {
    echo >&7
    read -r answer <&8
    case $answer in ready*) ;; *) return 1 ;; esac
}

end_load() {
    exec 7>&-
    wait "$load"
    exec 8<&-
    rm -r "$folder/load"
}

# count NAME: set NAME_requests, NAME_sectors, NAME_in, NAME_out.
count() {
    read -r requests _ sectors _ </sys/block/$disk/stat
    while read -r key number; do
        case $key in
        pswpin) swapped_in=$number ;;
        pswpout) swapped_out=$number ;;
        esac
    done </proc/vmstat
    eval "$1_requests=$requests $1_sectors=$sectors $1_in=$swapped_in $1_out=$swapped_out"
}

# run SCENARIO SCHEDULER READ_AHEAD_KB SWAPPINESS COMMAND...: one trial.
run() {
    scenario=$1 scheduler=$2 kb=$3 swappiness=$4
    shift 4
    set_knobs "$scheduler" "$kb" "$swappiness" || {
        echo "error the board does not take $scheduler $kb $swappiness"
        return
    }
    proven=yes
    if [ "$scenario" != idle ]; then
        start_load "$scenario"
        prove_load || proven=
    fi
    sync
    echo 3 >/proc/sys/vm/drop_caches
    count before
    read -r begin <$clock
    timeout -s KILL "$limit_s" "$@" </dev/null >/dev/null 2>&1
    status=$?
    read -r end <$clock
    count after
    if [ "$scenario" != idle ]; then
        [ -z "$proven" ] || prove_load || proven=
        end_load
    fi
    if [ -z "$proven" ]; then
        echo "error the $scenario does not run: $answer"
        return
    fi
    # shellcheck disable=SC2154
    echo "$scenario $scheduler $kb $swappiness $status $((end - begin))" \
        "$((after_requests - before_requests)) $((after_sectors - before_sectors))" \
        "$((after_in - before_in)) $((after_out - before_out))"
}

read -r schedulers <$queue/scheduler
was_scheduler=${schedulers#*[}
was_scheduler=${was_scheduler%]*}
was_kb=$(cat $queue/read_ahead_kb)
was_swappiness=$(cat /proc/sys/vm/swappiness)
trap 'set_knobs "$was_scheduler" "$was_kb" "$was_swappiness"' EXIT
trap 'exit 1' HUP INT TERM
while read -r scenario scheduler kb swappiness; do
    run "$scenario" "$scheduler" "$kb" "$swappiness" "$@"
done
