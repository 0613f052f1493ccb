#!/bin/sh
# Runs on the board: one trial for each line "SCENARIO SCHEDULER NR_REQUESTS READ_AHEAD_KB
# SWAPPINESS" of its input. Prints a line for each: the five words, the command's exit status, guest
# ns, requests and sectors read from the disk, pages swapped in and out; or "error TEXT" if a trial
# is impossible. The knobs are restored at the end. NR_REQUESTS is none without a scheduler, when
# the disk's depth is kept; less than 4 is possible only after choosing a scheduler.
#
# usage: sh trials.sh FOLDER ROOM_MIB LIMIT_S COMMAND...
#   FOLDER    in memory, has load.sh
#   ROOM_MIB  memory left free in the scenario memory
#   LIMIT_S   a command that takes longer is ended
set -u
folder=$1 room_mib=$2 limit_s=$3
shift 3
disk=slow0
queue=/sys/block/$disk/queue
clock=/sys/module/slowdisk/parameters/now_ns

# has FILE VALUE: whether it has that value, or accepts it.
has() {
    [ "$(cat "$1")" = "$2" ] || { echo "$2" >"$1" && [ "$(cat "$1")" = "$2" ]; } 2>/dev/null
}

# set_knobs SCHEDULER NR_REQUESTS READ_AHEAD_KB SWAPPINESS: and check that they are accepted.
set_knobs() {
    { echo none >$queue/scheduler && echo "$1" >$queue/scheduler; } 2>/dev/null # a new one
    case $(cat $queue/scheduler) in *"[$1]"*) ;; *) return 1 ;; esac
    [ "$2" = none ] || has $queue/nr_requests "$2" || return 1
    has $queue/read_ahead_kb "$3" && has /proc/sys/vm/swappiness "$4"
}

# start_load SCENARIO: like a trial; requests go to descriptor 7, answers come from 8.
start_load() {
    path='' mib=0
    case $1 in # as tracer/trials/trial.py has them
    reader) path=/dev/$disk ;;
    writer) path=/var mib=4 ;;
    memory) mib=$room_mib ;;
    esac
    mkdir "$folder/load"
    mkfifo "$folder/load/in" "$folder/load/out"
    sh "$folder/load.sh" "$1" "$path" "$mib" $disk "$folder/load" \
        <"$folder/load/in" >"$folder/load/out" 2>/dev/null &
    load=$!
    exec 7>"$folder/load/in" 8<"$folder/load/out"
}

# prove_load: fail unless the load is effective.
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

# run SCENARIO SCHEDULER NR_REQUESTS READ_AHEAD_KB SWAPPINESS COMMAND...: one trial.
run() {
    scenario=$1 scheduler=$2 depth=$3 kb=$4 swappiness=$5
    shift 5
    set_knobs "$scheduler" "$depth" "$kb" "$swappiness" || {
        echo "error the board does not take $scheduler $depth $kb $swappiness"
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
    echo "$scenario $scheduler $depth $kb $swappiness $status $((end - begin))" \
        "$((after_requests - before_requests)) $((after_sectors - before_sectors))" \
        "$((after_in - before_in)) $((after_out - before_out))"
}

read -r schedulers <$queue/scheduler
was_scheduler=${schedulers#*[}
was_scheduler=${was_scheduler%]*}
[ "$was_scheduler" = none ] && was_depth=none || was_depth=$(cat $queue/nr_requests)
was_kb=$(cat $queue/read_ahead_kb)
was_swappiness=$(cat /proc/sys/vm/swappiness)
trap 'set_knobs "$was_scheduler" "$was_depth" "$was_kb" "$was_swappiness"' EXIT
trap 'exit 1' HUP INT TERM
while read -r scenario scheduler depth kb swappiness; do
    run "$scenario" "$scheduler" "$depth" "$kb" "$swappiness" "$@"
done
