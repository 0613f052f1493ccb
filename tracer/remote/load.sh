# shellcheck shell=sh
# The load of a scenario, what else a machine does while a command starts, here and on a target.
# It begins by itself. Each line of its input asks for a proof that it runs: "ready BYTES..." (how
# much each of its processes has read from disks), or "error TEXT|REMEDY". When nobody holds the
# other end of its input any more, however that came, it ends and removes all it has made.
#
# usage: sh -c TEXT sh KIND PATH MIB DISK FOLDER
#   DISK    whose statistics prove that reader and writer run
#   FOLDER  of this load alone, in memory
set -u
umask 077
kind=$1 path=$2 mib=$3 disk=$4 folder=$5
written=$path/.foreread-load
loop=

fail() {
    echo "error $1|$2"
    exit 1
}

# again COMMAND...: run it over and over.
again() {
    child=
    trap 'kill "$child"; exit' TERM
    while kill -0 $$; do
        "$@" 2>"$folder/said" &
        child=$!
        echo $child >"$folder/child"
        wait $child || exit
    done
} >/dev/null 2>&1

reader_load() {
    direct=
    [ "$path" != "/dev/$disk" ] || direct=iflag=direct # would else fill the page cache
    # shellcheck disable=SC2086
    again dd if="$path" of=/dev/null bs=128k $direct &
    loop=$!
}

writer_load() {
    [ ! -d "$written" ] || [ -L "$written" ] || rm -r "$written" # a reset machine's
    mkdir "$written" || fail "no file can be written in $path" \
        "choose a folder of a file system that can be written to: writer:FOLDER"
    again dd if=/dev/zero of="$written/file" bs=64k count=$((mib * 16)) conv=fsync &
    loop=$!
}

# memory_load: fill a tmpfs; no zeros, which some kernels do not write when they swap.
memory_load() {
    available='' swap=0
    while read -r key number _; do
        case $key in
        MemAvailable:) available=$number ;;
        SwapFree:) swap=$number ;;
        esac
    done </proc/meminfo
    [ -n "$available" ] || fail "the kernel does not say how much memory is available" \
        "choose another scenario"
    [ "$swap" -gt $((mib * 1024)) ] || fail "there is no swap for $mib MiB of memory" \
        "add some with mkswap and swapon, or choose another scenario"
    kib=$((available + mib * 1024))
    mkdir "$folder/fill"
    mount -t tmpfs -o size=${kib}k foreread "$folder/fill" ||
        fail "no tmpfs can be mounted" "run as root, on a kernel that has tmpfs"
    dd if=/dev/zero bs=64k count=$((kib / 64)) 2>/dev/null | tr '\0' x >"$folder/fill/fill" ||
        fail "the memory cannot be filled" "choose less: memory:MIB"
}

# unload: end all, and remove what was made.
unload() {
    [ -z "$loop" ] || kill "$loop"
    wait
    [ "$kind" != writer ] || rm -r "$written"
    [ ! -d "$folder/fill" ] || umount "$folder/fill"
} 2>/dev/null

# bytes KEY: print how much each process of the load has read_bytes or write_bytes; nothing where
# the kernel does not say (CONFIG_TASK_IO_ACCOUNTING).
bytes() {
    { read -r child <"$folder/child"; } 2>/dev/null || child=-
    sed -n "s/^$1: //p" "/proc/$loop/io" "/proc/$child/io" 2>/dev/null
}

# moved: set moved to a number that the load makes grow: its own where the kernel says it.
moved() {
    case $kind in
    reader) read -r _ _ moved _ <"/sys/block/$disk/stat" && own=$(bytes read_bytes) ;;
    writer) read -r _ _ _ _ _ _ moved _ <"/sys/block/$disk/stat" && own=$(bytes write_bytes) ;;
    memory) own='' moved=$(sed -n 's/^pswpout //p' /proc/vmstat) ;;
    esac
    [ -z "$own" ] || moved=0
    for number in $own; do
        moved=$((moved + number))
    done
}

# prove: wait until the number has grown; memory, once filled, has no more to do.
prove() {
    read=
    if [ -n "$loop" ]; then
        read=$(bytes read_bytes)
        moved
        first=$moved
    fi
    tries=0
    while moved && [ "$moved" = "$first" ]; do
        [ $tries -lt 100 ] || fail "the $kind of the scenario does nothing" \
            "choose a larger file, which memory does not hold: reader:FILE"
        running
        tries=$((tries + 1))
        sleep 0.1 2>/dev/null || sleep 1
    done
    running
    # shellcheck disable=SC2086
    echo ready $read
}

# running: fail if the loop has ended.
running() {
    [ -z "$loop" ] || kill -0 "$loop" 2>/dev/null || fail "the $kind of the scenario ended: $(
        sed -n '$p' "$folder/said"
    )" "run dd by hand on $path"
}

trap unload EXIT
trap 'exit 1' HUP INT TERM
moved
first=$moved
"${kind}_load"
while read -r _; do
    prove
done
