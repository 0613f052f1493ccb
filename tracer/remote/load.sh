# shellcheck shell=sh
# The load of a scenario: what else a machine does while a command starts, here and on a target. It
# starts immediately. An empty line of its input asks for proof that the load is active; the answer is
# "ready BYTES...|WHY" (the bytes that each of its processes has read from disks) or "error
# TEXT|REMEDY". A line "join PATH" moves it into that control group for block I/O, in which the start
# is; it has no answer, but WHY says why the load is not in the group. When its input is closed for
# any reason, it ends and removes everything it has made.
#
# usage: sh -c TEXT sh KIND PATH MIB DISK FOLDER
#   DISK    whose statistics prove that reader and writer run
#   FOLDER  used by this load only, in memory; removed at the end
set -u
umask 077
kind=$1 path=$2 mib=$3 disk=$4 folder=$5
written=$path/.foreread-load
loop='' watcher='' apart=''
[ "$kind" = memory ] && patience=600 || patience=100 # tenths of a second

fail() {
    echo "error $1|$2"
    exit 1
}

# again COMMAND...: run it over and over. It ends after its program, which would keep the file and the
# control group in use.
again() {
    trap 'kill $!; wait $!; exit' TERM
    while kill -0 $$; do
        "$@" 2>"$folder/said" &
        echo $! >"$folder/child"
        wait $! || exit
    done
} >/dev/null 2>&1

# reader_load: one process reads continuously, since a scheduler may favour a process that has just
# started.
reader_load() {
    [ -e "$path" ] || fail "the file $path of the scenario does not exist" \
        "name a file that is there: reader:FILE"
    [ ! -d "$path" ] || fail "$path of the scenario is a folder" "name a file in it: reader:FILE"
    [ ! -f "$path" ] || [ -s "$path" ] || fail "the file $path of the scenario is empty" \
        "name a file larger than memory: reader:FILE"
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
    [ -d "$path" ] || fail "the folder $path of the scenario does not exist" \
        "name a folder that is there: writer:FOLDER"
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
    trap '' HUP INT TERM
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
    echo ready $read "|$apart"
}

# find_groups: set groups to where, by the lines of /proc/mounts, the control groups for block I/O are
# mounted: version 1's blkio, else version 2.
find_groups() {
    groups=''
    while read -r _ place type options _; do
        case $type,$options, in
        cgroup,*,blkio,*)
            groups=$place
            return
            ;;
        cgroup2,*) groups=${groups:-$place} ;;
        esac
    done
}

# join PATH: move the processes that read and write into a control group: first the loop, whose later
# programs are then in it, then its present program, as soon as the loop has noted it.
join() {
    find_groups </proc/mounts
    apart="its control group $1 cannot be joined"
    procs=$groups$1/cgroup.procs
    [ -n "$groups" ] && { echo "$loop" >"$procs"; } 2>/dev/null || return 0
    tries=0
    until { read -r child <"$folder/child" && echo "$child" >"$procs"; } 2>/dev/null; do
        [ $tries -lt 50 ] || return 0
        tries=$((tries + 1))
        sleep 0.1 2>/dev/null || sleep 1
    done
    apart=''
}

# running: fail if the loop has ended, with what its program said (dd ends with its statistics).
running() {
    ! kill -0 "$loop" 2>/dev/null || return 0
    wait "$loop"
    status=$?
    said=$(sed -n '/: /h; $ { x; /./!x; p; }' "$folder/said" 2>/dev/null)
    [ $status -lt 128 ] || said="signal $((status - 128))"
    fail "the $kind of the scenario ended: ${said:-status $status}" \
        "see that there is memory, and room on the disk; run dd by hand"
}

trap unload EXIT
trap 'exit 1' HUP INT TERM
"${kind}_load"
while read -r word group; do
    case $word in
    join) join "$group" ;;
    *) prove ;;
    esac
done
