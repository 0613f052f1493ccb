# shellcheck shell=sh
# The load of a scenario, what else a machine does while a command starts, here and on a target.
# It begins by itself. Each line of its input asks for a proof that it runs: "ready BYTES..." (how
# much each of its processes has read from disks), or "error TEXT|REMEDY". When nobody holds the
# other end of its input any more, however that came, it ends and removes all it has made.
#
# usage: sh -c TEXT sh KIND PATH MIB DISK FOLDER
#   DISK    whose statistics prove that reader and writer run
#   FOLDER  of this load alone, in memory; removed at the end
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

# reader_load: one process reads on and on, since a scheduler may favour whoever has just begun.
reader_load() {
    if [ "$path" = "/dev/$disk" ]; then
        set -- dd if="$path" of=/dev/null bs=128k iflag=direct # would else fill the page cache
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

# memory_load: have a process hold all memory but so many MiB. What fills it are not zeros, which
# some kernels do not write when they swap; a fifo that nobody reads keeps the process.
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
    [ "$kib" -gt 0 ] || fail "there are not $mib MiB of memory available" "choose less: memory:MIB"
    mkfifo "$folder/held"
    exec 5<>"$folder/held"
    line=$(dd if=/dev/zero bs=4095 count=1 2>/dev/null | tr '\0' x)
    yes "$line" | dd bs=${kib}k count=1 iflag=fullblock 2>"$folder/said" >"$folder/held" &
    loop=$!
    head -c 1 <&5 >"$folder/full" & # dd writes when it has all
    watcher=$!
}

# unload: end all, and remove what was made.
unload() {
    for pid in $loop $watcher; do
        kill "$pid"
    done
    wait
    # Twice: the last dd may make its file in the midst of the first.
    [ "$kind" != writer ] || rm -r "$written" || rm -r "$written"
    rm -r "$folder" || rm -r "$folder"
} 2>/dev/null

# bytes KEY: print how much each process of the load has read_bytes or write_bytes; nothing where
# the kernel does not say (CONFIG_TASK_IO_ACCOUNTING).
bytes() {
    { read -r child <"$folder/child"; } 2>/dev/null || child=-
    sed -n "s/^$1: //p" "/proc/$loop/io" "/proc/$child/io" 2>/dev/null
}

# moved: set moved to how many bytes reader or writer have moved: its own where the kernel says it,
# else those of the disk.
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

# works: whether the load does its work: the memory is held, or more is moved than what makes up
# the program that does it.
works() {
    if [ "$kind" = memory ]; then
        [ -s "$folder/full" ]
    else
        moved
        [ $((moved - first)) -ge 262144 ]
    fi
}

# prove: wait until it does.
prove() {
    read=$(bytes read_bytes)
    [ "$kind" = memory ] || moved
    first=${moved-} tries=0
    until works; do
        [ $tries -lt "$patience" ] || fail "the $kind of the scenario does nothing" \
            "give reader:FILE a file that memory does not hold; see what else uses memory and disk"
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
