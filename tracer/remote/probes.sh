# shellcheck shell=sh disable=SC2034,SC2154
# Events that foreread defines: the paths of opens, and replacements for events that the kernel
# lacks. The name of their group in tracefs contains the owner of the job.

# add_probes: define the events; set own to the names that the kernel accepted. kprobes has lines
# NAME EVENT BODY: a kprobe that is not needed if EVENT exists.
add_probes() {
    own=
    group=foreread_${owner% *}_${owner#* }
    echo "$group" >"$job/probes"
    while read -r name event body; do
        case " $present " in *" $event "*) continue ;; esac
        [ -z "$name" ] || define kprobe_events "$name" "p:$group/$name $body" ||
            echo "note the kernel refuses the probe $name: it may lack CONFIG_KPROBE_EVENTS"
    done <<END
$kprobes
END
    case "$own $present" in
    *" openat "*) ;;
    *sys_enter_openat*)
        define dynamic_events openat "e:$group/openat $open_probe" ||
            echo "note the kernel has no event probes: paths of opens are not recorded"
        ;;
    esac
    [ -z "$own" ] || echo "probe $group"
}

# define FILE NAME DEFINITION: add an event and note it in own; fails if the kernel refuses.
define() {
    (echo "$3" >>"$tracing/$1") 2>/dev/null && own="$own $2"
}

# remove_probes DIRECTORY: remove the events of that job; $place is tracefs. All kernels accept this
# form, in one of the two files.
remove_probes() {
    read -r group <"$1/probes"
    for event in "$place/events/$group"/*/; do
        event=${event%/}
        (echo "-:$group/${event##*/}" >>"$place/dynamic_events") ||
            (echo "-:$group/${event##*/}" >>"$place/kprobe_events")
    done
}
