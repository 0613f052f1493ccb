# shellcheck shell=sh disable=SC2034,SC2154
# Looks for the paths of inodes on the target's file systems.

# find_inodes SECONDS DIRECTORY INODE...: print "INODE SIZE KIND PATH" and a NUL for each found;
# KIND is ELF, LINK or -.
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
        [ ! -L "$path" ] || kind=LINK
        set -- $(ls -dlni -- "$path")
        printf "%s %s %s %s\000" "$1" "$6" $kind "$path"' sh {} \; 2>/dev/null &
    search=$!
    (exec 9<>"$job/never" && pause "$limit_s"; kill $search) </dev/null >/dev/null 2>&1 &
    limiter=$!
    wait $search 2>/dev/null # which says when it was killed
    status=$?
    kill $limiter 2>/dev/null
    [ $status -lt 128 ] || status='cut'
    echo "$status" >&2
}
