# shellcheck shell=sh disable=SC2034,SC2154
# Knobs are set, noted in a journal before that, and put back: by a job on a target, and by a
# recording of this machine. Needs boards/knobs.sh, and in the variables job the folder of the
# journal, in tab a tab.

# value_of KNOB: set value to the knob's value; where the file lists choices, to the one in
# brackets. Uses cat: a shell reads byte by byte, and files of /proc/sys answer only the first read.
value_of() {
    case $1 in
    mount:*)
        mount_value "$1"
        return
        ;;
    esac
    value=$(cat "$1" 2>/dev/null) || return
    case $value in
    *"["*"]"*) value=${value#*"["} value=${value%%"]"*} ;;
    esac
}

# write_knob KNOB VALUE: remount.sh writes mount options.
write_knob() {
    case $1 in
    mount:*) mount_write "$1" "$2" ;;
    *) echo "$2" >"$1" ;;
    esac
}

# set_knob KNOB VALUE: print "knob KNOB OLD TAKEN", or "unset KNOB OLD WHY" if it was refused.
# Refuses what boards/knobs.toml does not list, before the knob is read.
set_knob() {
    if ! is_knob "$1"; then
        echo "unset $1$tab${tab}it is not a knob that foreread sets"
        return
    fi
    if ! value_of "$1"; then
        echo "unset $1$tab${tab}there is no such knob"
        return
    fi
    old=$value
    if [ "$old" = "$2" ]; then
        echo "knob $1$tab$old$tab$old"
        return
    fi
    if ! may_put_back "$1" "$old" || ! may_set "$1" "$2"; then
        echo "unset $1$tab$old$tab${refusal#"$1: "}"
        return
    fi
    note_reset "$1" && echo "$1$tab$old$tab$2" >>"$job/journal" || return 1
    if why=$( (write_knob "$1" "$2") 2>&1); then
        value_of "$1"
        if [ "$value" != "$2" ]; then
            echo "$1$tab$old$tab$value" >>"$job/journal"
            echo "note $1: the kernel made $2 to $value"
        fi
        echo "knob $1$tab$old$tab$value"
    else
        echo "unset $1$tab$old$tab${why##*: }"
    fi
}

# report_moved: of the lines "KNOB VALUE" of the input, print "moved KNOB VALUE FOUND" of each that
# has another value; put_back leaves it at that.
report_moved() {
    while IFS=$tab read -r knob taken; do
        value_of "$knob" || value=
        [ "$value" != "$taken" ] || continue
        echo "$knob" >>"$job/others"
        echo "moved $knob$tab$taken$tab$value"
    done
}

# reset_with KNOB: set reset to the knobs that the kernel changes when this one is written: the
# tunables of a scheduler, the scheduler's depth with nr_requests (dd_depth_updated), the window
# with a limit of the queue (Linux 6.12, blk_apply_bdi_limits).
reset_with() {
    case $1 in
    */queue/scheduler) reset="${1%/*}/wbt_lat_usec ${1%/*}/nr_requests" ;;
    */queue/nr_requests) reset=${1%/*}/iosched/async_depth ;;
    */queue/max_sectors_kb | */queue/rotational) reset=${1%/*}/read_ahead_kb ;;
    *) reset='' ;;
    esac
}

# note_reset KNOB: journal the knobs that writing this one resets, as if they were changed. They are
# restored after it, and a scheduler's tunables after nr_requests, which resets one of them.
note_reset() {
    reset_with "$1"
    [ "${1##*/}" != scheduler ] || reset="${1%/*}/iosched/* $reset"
    for tunable in $reset; do
        if value_of "$tunable"; then
            echo "$tunable$tab$value$tab$value" >>"$job/journal" || return 1
        fi
    done
}

# restore DIRECTORY KEY: undo its journal, the last change first; print "KEY KNOB OLD PROBLEM".
# After a dead job (KEY leftover), a knob that another program has changed since is left as it is;
# so is one in the file "others", which another program has changed during the run.
restore() {
    [ -e "$1/journal" ] || return 0
    resets='' others=$1/others
    sed '1!G;h;$!d' "$1/journal" | {
        trap '' PIPE # a dead host does not read this output
        while IFS=$tab read -r knob old new; do
            if is_knob "$knob"; then
                put_back "$2" "$knob" "$old" "$new"
            else
                echo "$2 $knob$tab$old${tab}it is not a knob that foreread sets"
            fi
        done
        : # whatever became of the output
    } || return # killed half-way: the journal stays
    mv -f "$1/journal" "$1/journal.done"
}

# put_back KEY KNOB OLD NEW: restore the old value of the knob. The knobs in resets have values that
# the kernel set when another knob was restored.
put_back() {
    problem=''
    if ! value_of "$2"; then
        # If a tunable is gone with its scheduler, the line of the scheduler reports the problem; a
        # file system that was unmounted has nothing left to put back.
        case $2 in */iosched/* | /sys/fs/ext4/*) ;; *) problem='the device is gone' ;; esac
    elif [ "$value" = "$3" ]; then
        :
    elif [ "$1" = leftover ] && [ "$value" != "$4" ] && ! is_in "$2" "$resets" &&
        ! is_in "${2%/*}" "$resets"; then
        problem="left at $value, which another program has set"
    elif [ -e "$others" ] && [ "$value" != "$4" ] && grep -q -x -F -e "$2" "$others"; then
        problem="left at $value, which another program has set"
    elif ! may_put_back "$2" "$3"; then
        problem="${refusal#"$2: "}: it stayed at $value"
    elif ! (write_knob "$2" "$3") 2>/dev/null; then
        problem="it stayed at $value"
    else
        value_of "$2"
        case $2 in */queue/nr_requests) [ "$value" = "$3" ] || choose_anew "${2%/*}" ;; esac
        value_of "$2"
        [ "$value" = "$3" ] || problem="the kernel made it $value"
        reset_with "$2"
        resets="$resets $reset"
        case $2 in */queue/scheduler) resets="$resets ${2%/*}/iosched" ;; esac
    fi
    echo "$1 $2$tab$3$tab$problem"
}

# is_in WORD WORDS: whether the word is among the words.
is_in() {
    for word in $2; do
        [ "$word" != "$1" ] || return 0
    done
    return 1
}
