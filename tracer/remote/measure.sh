# shellcheck shell=sh disable=SC2034,SC2154
# What a sweep does around its run: it takes the time, and counts the reads of some disks.

# prepare: make an instance whose marks tell the time to the microsecond, if the kernel has them.
prepare() {
    marks=
    if (find_tracefs && make_instance marks 16) >/dev/null 2>&1; then
        read -r marks <"$job/instances"
        echo 1 >"$marks/tracing_on"
    fi
}

begin() {
    count_reads before
}

# mark NAME: note the time, to a hundredth of a second where there are no marks.
mark() {
    if [ -n "$marks" ]; then
        echo "$1" >"$marks/trace_marker"
    else
        uptime
        echo "uptime $1 $now"
    fi
}

end() {
    count_reads after
}

print_result() {
    { read -r marks <"$job/instances"; } 2>/dev/null || return 0
    fact mark "$marks/trace"
}

# count_reads KEY: print "KEY REQUESTS SECTORS", what each counted disk has read so far.
count_reads() {
    for disk in $counted; do
        read -r requests _ sectors _ <"/sys/block/$disk/stat"
        echo "$1 $requests $sectors"
    done
}
