# shellcheck shell=sh disable=SC2034
# Mount options as knobs; included by other scripts. A knob "mount:WORDS:DIRECTORY" belongs to the
# file system mounted on that directory. WORDS are alternatives, one of which is in force
# (relatime,noatime,strictatime), or a key whose value is a number (commit=). Options that the
# kernel does not show are not knobs, since their defaults are unknown.

# show_mount DIRECTORY: set flags (of the mount) and options (all options in force).
show_mount() {
    flags=''
    while read -r _ _ device _ point own rest; do
        [ "$point" != "$1" ] || flags=$own super=${rest##* } node=$device
    done </proc/self/mountinfo
    # A read-only mount of a writable file system cannot be remounted without changing that.
    [ -n "$flags" ] && [ "${flags%%,*}" = "${super%%,*}" ] || return
    options=,$flags,$super,
    # ext4 shows options that differ from its defaults, and all of them in a separate file.
    node=$(cd -P "/sys/dev/block/$node" && pwd)
    while read -r own; do
        options=$options$own,
    done <"/proc/fs/ext4/${node##*/}/options"
    case $options in *,noatime,* | *,relatime,*) ;; *) options=${options}strictatime, ;; esac
    case $options in *,lazytime,*) ;; *) options=${options}nolazytime, ;; esac
} 2>/dev/null

# mount_value KNOB: set value to the option in force; fails if that cannot be determined.
mount_value() {
    words=${1#mount:}
    show_mount "${words#*:}" || return
    words=${words%%:*}
    case $words in
    *=)
        case $options in *",$words"*) ;; *) return 1 ;; esac
        value=${options##*",$words"}
        value=${value%%,*}
        ;;
    *)
        rest=$words,
        while [ -n "$rest" ]; do
            value=${rest%%,*} rest=${rest#*,}
            case $options in *",$value,"*) return ;; esac
        done
        return 1
        ;;
    esac
}

# mount_write KNOB VALUE: remount with that value; fails with a message if it is refused.
mount_write() {
    mount_value "$1" || return
    case $words,$2 in
    *=,*[!0-9]* | *=,) return 1 ;;
    *=,*) rest=$words$2 ;;
    *)
        case ",$words," in *",$2,"*) rest=$2 ;; *) return 1 ;; esac
        ;;
    esac
    # The last word counts, but noatime outlasts relatime.
    case $rest in noatime | relatime | strictatime) rest=atime,$rest ;; esac
    # All flags are given; otherwise those of fstab would be added.
    mount -o "remount,$flags,$rest" "${1##*:}" >/dev/null 2>&1 && return
    echo "the file system does not take $rest" >&2
    return 1
}
