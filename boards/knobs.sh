# shellcheck shell=sh disable=SC2034,SC2154
# Which knobs may be written, and with which values: the rules of knobs.py for a POSIX shell.
# Included by other scripts after knob_range, which knobs.py makes from knobs.toml. They start no
# process. A refused knob or value leaves the reason in refusal.

# is_knob KNOB: whether it is listed; sets knob_set, knob_found (ranges) and knob_share.
is_knob() {
    refusal="$1 is not a knob that foreread sets"
    knob_set='' knob_found='' knob_share='' knob_place=$1 knob_name=''
    case $1 in
    *[!A-Za-z0-9_/!.:,=+-]*) return 1 ;;
    /sys/block/*/*)
        knob_name=${1#/sys/block/}
        knob_place="/sys/block/{disk}/${knob_name#*/}"
        case ${knob_name%%/*} in [0-9]*:*) return 1 ;; esac
        ;;
    /sys/class/bdi/*/*)
        knob_name=${1#/sys/class/bdi/}
        knob_place="/sys/class/bdi/{bdi}/${knob_name#*/}"
        ;;
    /sys/fs/btrfs/*/*)
        knob_name=${1#/sys/fs/btrfs/}
        knob_place="/sys/fs/btrfs/{bdi}/${knob_name#*/}"
        ;;
    /sys/fs/ext4/*/*)
        knob_name=${1#/sys/fs/ext4/}
        knob_place="/sys/fs/ext4/{disk}/${knob_name#*/}"
        case ${knob_name%%/*} in [0-9]*:*) return 1 ;; esac
        ;;
    /sys/devices/system/cpu/cpufreq/policy*/*)
        knob_name=${1#/sys/devices/system/cpu/cpufreq/}
        knob_place="/sys/devices/system/cpu/cpufreq/{policy}/${knob_name#*/}"
        case ${knob_name%%/*} in
        policy[0-9] | policy[1-9][0-9] | policy[1-9][0-9][0-9]) ;;
        *) return 1 ;;
        esac
        ;;
    mount:*:/*)
        knob_name=${1#mount:}
        knob_place="mount:${knob_name%%:*}:{mount}" knob_name=${knob_name#*:}
        case $knob_name/ in *[!A-Za-z0-9_./+-]* | */../*) return 1 ;; esac
        [ ${#knob_name} -le 100 ] && knob_range "$knob_place"
        return
        ;;
    esac
    if [ -n "$knob_name" ]; then
        knob_name=${knob_name%%/*}
        case $knob_name in '' | [!A-Za-z0-9_]* | *[!A-Za-z0-9_!.+:-]*) return 1 ;; esac
        [ ${#knob_name} -le 64 ] || return 1
    fi
    knob_range "$knob_place"
}

# may_set KNOB VALUE: whether a plan may give it that value.
may_set() {
    is_knob "$1" && knob_takes "$knob_set" "$1" "$2"
}

# may_put_back KNOB VALUE: whether it may have been found with that value.
may_put_back() {
    is_knob "$1" && knob_takes "$knob_found" "$1" "$2"
}

# knob_takes RANGE KNOB VALUE
knob_takes() {
    case $1 in
    '')
        refusal="$2 is put back only, never set"
        return 1
        ;;
    word)
        refusal="$2: $3 is not a word of at most 15 letters, digits, - and _"
        case $3 in '' | [!A-Za-z0-9]* | *[!A-Za-z0-9_-]*) return 1 ;; esac
        [ ${#3} -le 15 ]
        return
        ;;
    one)
        knob_name=${2#mount:}
        refusal="$2: $3 is not one of ${knob_name%%:*}"
        case $3 in '' | *[!a-z0-9_]*) return 1 ;; esac
        case ,${knob_name%%:*}, in *",$3,"*) return 0 ;; esac
        return 1
        ;;
    esac
    refusal="$2: $3 is not a whole number from ${1%-*} to ${1#*-}"
    case $3 in '' | *[!0-9]* | 0?* | ???????????*) return 1 ;; esac
    { [ "$3" -ge "${1%-*}" ] && [ "$3" -le "${1#*-}" ]; } 2>/dev/null || return 1
    [ -n "$knob_share" ] || return 0
    refusal="$2: $3 KiB is not within 1/$knob_share of the memory"
    { read -r _ knob_kib _ </proc/meminfo; } 2>/dev/null || return 1
    case $knob_kib in '' | *[!0-9]*) return 1 ;; esac
    [ "$3" -le $((knob_kib / knob_share)) ]
}
