# shellcheck shell=sh disable=SC2034,SC2154
# What a recording does around its run; then the search for the files that were read. beside.sh has the
# load that runs beside it.

prepare() {
    prepare_tracing
}

begin() {
    print_memory
    hold_beside
    start_load
    note_mapped
    start_tracing
}

begin_counting() {
    ask_load before
    [ -z "$why_not" ] || die "${why_not%%|*}" "${why_not#*|}"
    untraced count_memory before
}

# note_mapped: save which file pages processes map, since drop_caches keeps those. maps has the
# lines of /proc/PID/maps; pagemap the matching parts of /proc/PID/pagemap; pieces a line "PID FIRST
# PAGES" for each part, with the output of dd. The last line of pieces is "all" if there was time
# for everything.
note_mapped() {
    [ "$mapped_s" != 0 ] || return 0
    [ -r /proc/self/pagemap ] && [ $((0x100000000)) -gt 1 ] || return 0
    uptime
    patience=$((now + mapped_s * 100))
    grep -s -F / /dev/null /proc/[0-9]*/maps >"$job/maps"
    sed 's/ .*//' "$job/maps" >"$job/ranges"
    {
        piece=- end=0
        while read -r range; do
            process=${range%%/maps:*} range=${range#*:}
            if [ "$piece" != "$process" ] || [ $((0x${range%-*})) != $end ]; then
                print_pagemap || return 0
                piece=$process start=$((0x${range%-*}))
            fi
            end=$((0x${range#*-}))
        done <"$job/ranges"
        print_pagemap && echo all >&2
    } >"$job/pagemap" 2>"$job/pieces"
}

# noted FILE: print what note_mapped saved.
noted() {
    cat "$job/$1" 2>/dev/null || :
}

# print_pagemap: print the pagemap of a process for the addresses from start to end.
print_pagemap() {
    uptime
    [ "$now" -lt "$patience" ] || return 1
    [ "$piece" != - ] || return 0
    first=$((start / page_bytes)) pages=$(((end - start) / page_bytes)) bytes=8
    echo "${piece#/proc/} $first $pages" >&2
    while [ $((first % 2 + pages % 2)) = 0 ] && [ $bytes -lt 4096 ]; do
        first=$((first / 2)) pages=$((pages / 2)) bytes=$((bytes * 2))
    done
    dd if="$piece/pagemap" bs=$bytes skip=$first count=$pages || :
}

# mark NAME: note the time; with the start, release what runs beside it.
mark() {
    echo "$1" >"$marks/trace_marker"
    [ "$1" != start ] || release_beside
}

end() {
    echo 0 >"$instance/tracing_on"
    ask_load after
    [ -z "$why_not" ] || echo "unloaded $why_not"
    [ -z "$apart" ] || echo "apart $apart"
    fact group "$job/group"
    { read -r seen_group <"$job/seen_group"; } 2>/dev/null || seen_group=''
    count_memory after
    print_kills
    cat "$job/samples" 2>/dev/null || :
}

print_result() {
    print_trace
}

# heads BYTES PATH...: print the first BYTES bytes of each file, padded with NULs.
heads() {
    size=$1
    shift
    for path; do
        dd if="$path" bs="$size" count=1 conv=sync || dd if=/dev/zero bs="$size" count=1
    done 2>/dev/null
}

# disk_node MAJOR:MINOR: print the path of a block device, if there is one.
disk_node() {
    node=/dev/$(sed -n 's/^DEVNAME=//p' "/sys/dev/block/$1/uevent" 2>/dev/null)
    [ ! -b "$node" ] || echo "node $node"
}

# blocks NODE BYTES FIRST COUNT...: print COUNT blocks of BYTES bytes from block FIRST, for each
# pair.
blocks() {
    node=$1 size=$2
    shift 2
    while [ $# -gt 1 ]; do
        dd if="$node" bs="$size" skip="$1" count="$2" 2>/dev/null
        shift 2
    done
}

# kernel_options NAME...: print the lines of these options in the kernel's configuration.
kernel_options() {
    names=$(printf '|%s' "$@")
    {
        zcat /proc/config.gz || gzip -dc /proc/config.gz || cat "/boot/config-$(uname -r)"
    } 2>/dev/null | grep -E "^(# )?(${names#|})[= ]" | sed 's/^/option /'
}
