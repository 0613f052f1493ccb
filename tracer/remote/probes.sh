# shellcheck shell=sh disable=SC2034,SC2154
# Events of our own: the paths of opens, and what stands in for events that the kernel lacks.
# Their group in tracefs bears the job's owner in its name.

# add_probes: define them; own is set to the names of those that the kernel took. kprobes has
# lines NAME EVENT BODY: a kprobe that is not needed where EVENT is there.
add_probes() {
    own=
    group=foreread_${owner% *}_${owner#* }
    echo "$group" >"$job/probes"
    while read -r name event body; do
        case " $present " in *" $event "*) continue ;; esac
        [ -z "$name" ] || define kprobe_events "$name" "p:$group/$name $body" ||
            echo "note the kernel takes no probe $name: see that it has CONFIG_KPROBE_EVENTS"
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

# remove_probes DIRECTORY: remove that job's; $place is tracefs. All kernels know this form, in
# one file or the other.
remove_probes() {
    read -r group <"$1/probes"
    for event in "$place/events/$group"/*/; do
        event=${event%/}
        (echo "-:$group/${event##*/}" >>"$place/dynamic_events") ||
            (echo "-:$group/${event##*/}" >>"$place/kprobe_events")
    done
}
