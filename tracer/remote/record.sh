# shellcheck shell=sh disable=SC2034,SC2154
# What a recording does around its run, and the search for the files that were read.

prepare() {
    prepare_tracing
}

begin() {
    start_tracing
}

mark() {
    echo "$1" >"$marks/trace_marker"
}

end() {
    echo 0 >"$instance/tracing_on"
}

print_result() {
    print_trace
}

# find_inodes SECONDS DIRECTORY INODE...: print "INODE SIZE KIND PATH" and a NUL for each found;
# KIND is ELF or -.
find_inodes() {
    limit_s=$1 top=$2
    shift 2
    if ! find /proc/self/comm -inum 0 2>/dev/null; then
        echo lacking >&2
        return
    fi
    expression="-inum $1"
    shift
    for inode; do
        expression="$expression -o -inum $inode"
    done
    # shellcheck disable=SC2016,SC2086
    find "$top" -xdev \( $expression \) -exec $shell -c '
        set -f
        path=$1 kind=-
        [ ! -f "$path" ] || [ "$(dd if="$path" bs=1 skip=1 count=3)" != ELF ] || kind=ELF
        set -- $(ls -dlni -- "$path")
        printf "%s %s %s %s\000" "$1" "$6" $kind "$path"' sh {} \; 2>/dev/null &
    search=$!
    (exec 9<>"$job/never" && pause "$limit_s"; kill $search) </dev/null >/dev/null 2>&1 &
    limiter=$!
    wait $search
    status=$?
    kill $limiter 2>/dev/null
    [ $status -lt 128 ] || status='cut'
    echo "$status" >&2
}

# heads BYTES PATH...: print so many bytes of the beginning of each file, filled up with NULs.
heads() {
    size=$1
    shift
    for path; do
        dd if="$path" bs="$size" count=1 conv=sync || dd if=/dev/zero bs="$size" count=1
    done 2>/dev/null
}
