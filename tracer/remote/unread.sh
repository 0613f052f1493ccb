# shellcheck shell=sh disable=SC2034,SC2154
# The pages of a ring buffer that were not read yet.

# count_pages CPU_DIRECTORY MOST DATA_BYTES: set count to the pages that can be read without waiting,
# at most MOST, and lost to the events that the CPU has lost so far. Reading an empty buffer would
# block, so the number is computed: unread bytes over DATA_BYTES, the most that a page holds.
count_pages() {
    entries=0 bytes=0 lost=0 count=0
    while read -r key value more rest; do
        case $key in
        entries:) entries=$value ;;
        bytes:) bytes=$value ;;
        overrun:) lost=$((lost + value)) ;;
        commit) lost=$((lost + more)) ;;
        dropped) lost=$((lost + more)) ;;
        esac
    done <"$1/stats"
    [ "$entries" != 0 ] || return 0
    count=1
    [ "${#bytes}" -gt 15 ] || count=$(((bytes + $3 - 1) / $3))
    [ $count -ge 1 ] || count=1
    [ $count -le "$2" ] || count=$2
}

# print_pages CPU_DIRECTORY PAGE_BYTES: print so many pages as count says.
print_pages() {
    [ "$count" != 0 ] || return 0
    dd if="$1/trace_pipe_raw" bs="$2" count="$count" 2>/dev/null &
    echo $! >"$job/reader"
    wait $!
    rm -f "$job/reader"
}
