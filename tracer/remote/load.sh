# shellcheck shell=sh
# The load of a scenario: what else a machine does while a command starts, here and on a target. It
# starts immediately. Each line of its input asks for proof that the load is active; the answer is
# "ready BYTES..." (the bytes that each of its processes has read from disks) or "error
# TEXT|REMEDY". When its input is closed for any reason, it ends and removes everything it has made.
#
# usage: sh -c TEXT sh KIND PATH MIB DISK FOLDER
#   DISK    whose statistics prove that reader and writer run
#   FOLDER  used by this load only, in memory; removed at the end
set -u
umask 077
kind=$1 path=$2 mib=$3 disk=$4 folder=$5
written=$path/.foreread-load
loop='' watcher=''
[ "$kind" = memory ] && patience=600 || patience=100 # tenths of a second

fail() {
    echo "error $1|$2"
    exit 1
}

# again COMMAND...: run it over and over.
again() {
    trap 'kill $!; exit' TERM
    while kill -0 $$; do
        "$@" 2>"$folder/said" &
        echo $! >"$folder/child"
        wait $! || exit
    done
} >/dev/null 2>&1

# reader_load: one process reads continuously, since a scheduler may favour a process that has just
# started.
reader_load() {
    if [ "$path" = "/dev/$disk" ]; then
        set -- dd if="$path" of=/dev/null bs=128k iflag=direct # not through the page cache
    else
        set -- "$path" "$path" "$path" "$path" "$path" "$path" "$path" "$path"
        set -- "$@" "$@" "$@" "$@" "$@" "$@" "$@" "$@"
        set -- cat "$@"
    fi
    again "$@" &
    loop=$!
}

writer_load() {
    [ ! -d "$written" ] || [ -L "$written" ] || rm -r "$written" # a reset machine's
    mkdir "$written" || fail "no file can be written in $path" \
        "choose a folder of a file system that can be written to: writer:FOLDER"
    again dd if=/dev/zero of="$written/file" bs=64k count=$((mib * 16)) conv=fsync &
    loop=$!
}

# memory_load: make a process hold all memory except so many MiB. It is not filled with zeros, which
# some kernels do not write when they swap. The process blocks on a fifo that nobody reads, and so
# keeps the memory.
memory_load() {
    available='' swap=0
    while read -r key number _; do
        case $key in
        MemAvailable:) available=$number ;;
        SwapTotal:) swap=$number ;;
        esac
    done </proc/meminfo
    [ -n "$available" ] || fail "the kernel does not say how much memory is available" \
        "choose another scenario"
    [ "$swap" -gt 0 ] || fail "this machine has no swap" \
        "add some with mkswap and swapon, or choose another scenario"
    kib=$((available - mib * 1024))
    [ "$kib" -gt 0 ] || fail "no more than $mib MiB of memory are available" \
        "choose less: memory:MIB"
    mkfifo "$folder/held"
    exec 5<>"$folder/held"
    line=$(dd if=/dev/zero bs=4095 count=1 2>/dev/null | tr '\0' x)
    yes "$line" | dd bs=${kib}k count=1 iflag=fullblock 2>"$folder/said" >"$folder/held" &
    loop=$!
    head -c 1 <&5 >"$folder/full" & # dd writes after it has read everything
    watcher=$!
}

# unload: end all processes, and remove everything that was made.
unload() {
    for pid in $loop $watcher; do
        kill "$pid"
    done
    wait
    # Twice: the last dd may create its file during the first removal.
    [ "$kind" != writer ] || rm -r "$written" || rm -r "$written"
    rm -r "$folder" || rm -r "$folder"
} 2>/dev/null

# bytes KEY: print read_bytes or write_bytes of each process of the load; nothing if the kernel does
# not count them (CONFIG_TASK_IO_ACCOUNTING).
bytes() {
    { read -r child <"$folder/child"; } 2>/dev/null || child=-
    sed -n "s/^$1: //p" "/proc/$loop/io" "/proc/$child/io" 2>/dev/null
}

# moved: set moved to the bytes that the reader or writer has transferred: its own if the kernel
# counts them, otherwise those of the disk.
moved() {
    case $kind in
    reader) read -r _ _ sectors _ <"/sys/block/$disk/stat" && own=$(bytes read_bytes) ;;
    writer) read -r _ _ _ _ _ _ sectors _ <"/sys/block/$disk/stat" && own=$(bytes write_bytes) ;;
    esac
    [ -z "$own" ] && moved=$((sectors * 512)) || moved=0
    for number in $own; do
        moved=$((moved + number))
    done
}

# works: whether the load is effective: the memory is held, or more bytes were transferred than
# reading the load's own program takes.
works() {
    if [ "$kind" = memory ]; then
        [ -s "$folder/full" ]
    else
        moved
        [ $((moved - first)) -ge 262144 ]
    fi
}

# prove: wait until the load is effective.
prove() {
    read=$(bytes read_bytes)
    [ "$kind" = memory ] || moved
    first=${moved-} tries=0
    until works; do
        [ $tries -lt "$patience" ] || fail "the scenario's $kind has no effect" \
            "choose a file larger than memory: reader:FILE; check what else uses memory and disk"
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
    kill -0 "$loop" 2>/dev/null || fail "the $kind of the scenario ended: $(
        sed -n '$p' "$folder/said"
    )" "see that there is memory, and room on the disk; run dd by hand"
}

trap unload EXIT
trap 'exit 1' HUP INT TERM
"${kind}_load"
while read -r _; do
    prove
done
