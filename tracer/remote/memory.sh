# shellcheck shell=sh disable=SC2034,SC2154,SC3045
# The memory of a run: what the machine has of it, what the kernel reclaims, what the command's processes
# use, and a control group that limits it. tracer/runs/memory.py parses the lines "memory WHEN NAME LINE".
#
# memory_kib is the limit of the group that the job makes for each run; empty: the command stays in the
# recorder's group.

# ---- control groups ----

# has_word WORD FILE: whether the file, of one line, has the word.
has_word() {
    { read -r words <"$2"; } 2>/dev/null || return 1
    case " $words " in *" $1 "*) ;; *) return 1 ;; esac
}

# find_hierarchy: set hierarchy to where, by the lines of /proc/mounts, control groups for memory are
# mounted, and version; fail if they are not.
find_hierarchy() {
    hierarchy='' version=''
    while read -r _ place type options _; do
        case $type,$options, in
        cgroup,*,memory,*)
            hierarchy=$place version=1
            return
            ;;
        cgroup2,*) ! has_word memory "$place/cgroup.controllers" || hierarchy=$place version=2 ;;
        esac
    done
    [ -n "$hierarchy" ]
}

# mount_hierarchy: mount control groups for memory where they belong. The job's name is the source of
# the mount; the place is noted before.
mount_hierarchy() {
    [ -d /sys/fs/cgroup ] && ! is_mounted /sys/fs/cgroup || return 1
    echo /sys/fs/cgroup >"$job/memory_mounted"
    if mount -t cgroup2 "${job##*/}" /sys/fs/cgroup; then
        find_hierarchy </proc/mounts && return
        umount /sys/fs/cgroup
    fi
    mount -t cgroup -o memory "${job##*/}" /sys/fs/cgroup && find_hierarchy </proc/mounts
} 2>/dev/null

# find_group CONTROLLER: set group to the control group for block I/O or for memory in the lines of a
# process's cgroup file: version 1's of the controller, else version 2's.
find_group() {
    group=''
    while IFS=: read -r number controllers path; do
        case ,$controllers, in
        *,"$1",*)
            group=$path
            return
            ;;
        ,,) [ "$number" != 0 ] || group=$path ;;
        esac
    done
}

# find_parent: set parent to the group in which the job may make one: the recorder's own, or of version
# 2, where a group with processes has no limited ones in it, the next above that has.
find_parent() {
    above=$(find_group memory </proc/self/cgroup && echo "$group") # group is also that of probes
    parent=$hierarchy${above%/}
    [ -d "$parent" ] || parent=$hierarchy
    [ "$version" = 2 ] || return 0
    until [ "$parent" = "$hierarchy" ] || has_word memory "$parent/cgroup.subtree_control"; do
        parent=${parent%/*}
    done
    has_word memory "$parent/cgroup.subtree_control" || {
        echo "$parent/cgroup.subtree_control" >"$job/memory_enabled"
        echo +memory >"$parent/cgroup.subtree_control"
    } 2>/dev/null
}

# make_memory_group: make the group of the run, noted before, with its limit and without swap.
make_memory_group() {
    [ -n "$memory_kib" ] || return 0
    find_hierarchy </proc/mounts || mount_hierarchy ||
        die "this kernel has no control groups for memory" \
            "use a kernel with CONFIG_MEMCG (a Raspberry Pi needs cgroup_enable=memory in its kernel\
 command line), or measure without --memory"
    find_parent || die "memory cannot be limited below $parent" \
        "run as root outside of a container, or measure without --memory"
    memory_group=$parent/${job##*/}
    echo "$memory_group" >"$job/memory_group"
    mkdir "$memory_group" 2>/dev/null || die "no control group can be made in $parent" \
        "run as root outside of a container, or measure without --memory"
    case $version in
    1) limits='memory.limit_in_bytes memory.memsw.limit_in_bytes' ;;
    2) limits='memory.max memory.swap.max' ;;
    esac
    for file in $limits; do
        limit=${memory_kib}K
        [ "$file" != memory.swap.max ] || limit=0
        [ ! -e "$memory_group/$file" ] || (echo "$limit" >"$memory_group/$file") 2>/dev/null ||
            die "$memory_group/$file cannot be set to $limit" "choose another size with --memory"
    done
    # shellcheck disable=SC2086
    set -- $limits
    [ -e "$memory_group/$1" ] || die "$memory_group has no $1" "mount the control groups for memory"
    [ -e "$memory_group/$2" ] || [ "$(sed 1d /proc/swaps)" = '' ] ||
        echo "note the command's memory group may use swap: this kernel does not limit it"
}

# join_memory_group: move the held command into the group of the run.
join_memory_group() {
    [ -n "$memory_kib" ] || return 0
    (echo "$command" >"$memory_group/cgroup.procs") 2>/dev/null ||
        die "the command cannot join $memory_group" "run as root, or measure without --memory"
}

# print_kills: print how many processes of the group of the run were killed for want of memory; nothing
# if the kernel does not count them.
print_kills() {
    [ -n "$memory_kib" ] || return 0
    cat "$memory_group/memory.events" "$memory_group/memory.oom_control" 2>/dev/null |
        sed -n 's/^oom_kill /memory after kills /p'
}

# ---- facts ----

# print_memory: print what a run does not change. It starts programs: the caches are dropped later.
print_memory() {
    fact "memory before swaps" /proc/swaps
    grep -E '^ *(min|low|high) +[0-9]' /proc/zoneinfo | sed 's/^/memory before zoneinfo /'
    fact "memory before min_free" /proc/sys/vm/min_free_kbytes
    fact "memory before lru_gen" /sys/kernel/mm/lru_gen/enabled
    find_hierarchy </proc/mounts || :
}

# each_line FILE COMMAND [ARGUMENT...]: call the command with each line of a file of /proc. bash seeks back
# after each line that it reads, and the kernel makes the text anew each time, so that a number that has
# grown by a digit moves the next line. It reads all at once.
each_line() {
    file=$1
    shift
    if [ -n "${BASH_VERSION-}" ]; then
        read -r -d '' text <"$file"
        IFS='
'
        for line in $text; do
            "$@" "$line"
        done
        unset IFS
    else
        while read -r line; do
            "$@" "$line"
        done <"$file"
    fi
}

# count_memory WHEN: print the counters of reclaim. No program is started: the caches are cold.
count_memory() {
    each_line /proc/meminfo print_available "$1"
    each_line /proc/vmstat print_reclaim "$1" vmstat
    [ "$1" = before ] || [ -z "$seen_group" ] || print_group
} 2>/dev/null

print_available() {
    case $2 in MemAvailable:* | MemFree:* | Cached:*) echo "memory $1 meminfo $2" ;; esac
}

print_reclaim() {
    case $3 in
    workingset_* | pgscan* | pgsteal* | pswp* | oom_kill* | pgmajfault*) echo "memory $1 $2 $3" ;;
    esac
}

# see_group: look which group the command is in; count when it is another one.
see_group() {
    { find_group memory <"/proc/$command/cgroup"; } 2>/dev/null
    start_of "$command" # one that is exiting (PF_EXITING) is in no group of version 1
    [ -n "$started" ] && [ $((flags & 4)) = 0 ] && [ "$group" != "$seen_group" ] || return 0
    seen_group=$group
    echo "$group" >"$job/seen_group"
    each_line "$hierarchy$group/memory.stat" print_reclaim before stat >"$job/group_before"
} 2>/dev/null

# print_group: print the group that the command was seen in, its limits and its counters.
print_group() {
    echo "memory after group $version $seen_group"
    cat "$job/group_before"
    each_line "$hierarchy$seen_group/memory.stat" print_reclaim after stat
    above=$hierarchy${seen_group%/}
    while :; do
        for file in memory.limit_in_bytes memory.memsw.limit_in_bytes memory.max memory.high \
            memory.swap.max; do
            ! read -r value <"$above/$file" || echo "memory limit $file $value"
        done
        [ "$above" != "$hierarchy" ] || break
        above=${above%/*}
    done
    [ -n "$memory_kib" ] || return 0
    for file in memory.peak memory.max_usage_in_bytes; do
        ! read -r value <"$memory_group/$file" || echo "memory after peak $value"
    done
}

# watch_memory: from the release on, note the memory of the command's processes and of the run's group, as
# "memory own|used MS KIB", and the group that the command is in, which a wrapper may join soon or never.
watch_memory() {
    exec 9<>"$job/never"
    seen_group=
    [ -z "$hierarchy" ] || see_group
    family=$command looks=0
    uptime
    began=$now
    echo >"$job/beside.held"
    read -r _ <&7
    uptime
    began=$now
    while add_own; do
        [ -z "$hierarchy" ] || [ $((looks > 5 ? looks % 10 : 0)) != 0 ] || see_group
        uptime
        ms=$(((now - began) * 10))
        note_samples
        looks=$((looks + 1))
        if [ $looks -lt 600 ]; then pause "${tick_s:-1}"; else pause 1; fi
    done
} 2>/dev/null

# add_own: set own to the KiB of anonymous memory of the command's processes; fail if none is left.
# /proc/PID/statm is short: a shell reads it byte by byte, and each read is in the trace.
add_own() {
    own=0 found='' left=''
    for process in $family; do
        for file in "/proc/$process/task"/*/children; do
            # The file has no end of line, and is missing without CONFIG_PROC_CHILDREN.
            children=''
            read -r children <"$file" || :
            found="$found $children"
        done
        read -r _ resident shared _ <"/proc/$process/statm" || continue
        own=$((own + (resident - shared) * page_bytes / 1024)) left="$left $process"
    done
    for process in $found; do
        case " $left " in *" $process "*) ;; *) left="$left $process" ;; esac
    done
    family=$left
    [ -n "$family" ]
}

# note_samples: note the sums, if they have changed.
note_samples() {
    [ "$own" = "${last_own-}" ] || echo "memory own $ms $own"
    last_own=$own
    [ -n "$memory_kib" ] || return 0
    used_of "$memory_group" || return 0
    [ "$used" = "${last_used-}" ] || echo "memory used $ms $used"
    last_used=$used
} >>"$job/samples"

# used_of GROUP: set used to the KiB that the group uses without pages of files.
used_of() {
    { read -r used <"$1/memory.current" || read -r used <"$1/memory.usage_in_bytes"; } || return
    while read -r key bytes; do
        case $key in inactive_file | active_file) used=$((used - bytes)) ;; esac
    done <"$1/memory.stat"
    used=$((used / 1024))
}
