# shellcheck shell=sh disable=SC2034,SC2154
# The files of a judgement, in a folder on the disk under test. A process of the job, the keeper,
# removes the folder when the job ends, or when the host has not called within its lease. A folder
# whose keeper is dead is removed by the next foreread here, or by the next judgement in that place.

# real PATH...: print "real PATH RESOLVED" of each that is a folder.
real() {
    need readlink
    for path; do
        [ ! -d "$path" ] || echo "real $path$tab$(readlink -f "$path")"
    done
}

# keep PLACE: make a folder in PLACE and start its keeper; print the folder.
keep() {
    need cat dd grep head ls mkdir mkfifo mv rm sleep sync
    grep -q '^Uid:[[:space:]]*0[[:space:]]' /proc/self/status ||
        die "this needs root on the target" "log in as root, as in --target ssh://root@BOARD"
    remove_dead "$1"
    kept=${1%/}/foreread-judge-${job##*-}
    echo "$kept" >"$job/kept"
    why=$(mkdir "$kept" 2>&1) || die "cannot make a folder in $1: ${why##*: }" \
        "choose another folder on that disk: --folder DIR"
    mkfifo "$job/wake"
    if command -v setsid >/dev/null; then
        # shellcheck disable=SC2086
        setsid $shell "$job/job.sh" - keeper </dev/null >/dev/null 2>&1 &
    else
        (trap '' HUP && exec $shell "$job/job.sh" - keeper) </dev/null >/dev/null 2>&1 &
    fi
    tries=0
    until [ -s "$kept/owner" ]; do
        [ $tries -lt 100 ] || die "the keeper of the files did not start" "see the target's memory"
        tries=$((tries + 1))
        nap
    done
    echo "folder $kept"
}

# keeper: own the job until it has finished or the host is gone, then remove all of it.
keeper() {
    exec 9<>"$job/wake"
    start_of $$
    read -r kept <"$job/kept"
    read -r boot </proc/sys/kernel/random/boot_id
    note_owner "$$ $started"
    echo "$boot $$ $started" >"$kept/owner"
    while [ ! -e "$job/finish" ]; do
        pause 2
        ! has_expired "$job/lease" || break
    done
    undo "$job" restored
}

# remove_dead PLACE: remove the folders there whose keeper no longer runs.
remove_dead() {
    read -r boot </proc/sys/kernel/random/boot_id
    for kept in "${1%/}"/foreread-judge-*; do
        if [ ! -L "$kept" ] && [ -O "$kept" ] && { read -r booted owner <"$kept/owner"; } 2>/dev/null; then
            if [ "$booted" != "$boot" ] || ! alive "$owner"; then
                rm -rf "$kept"
            fi
        fi
    done
}

# fill SIZE...: write a file of so many bytes for each size, numbered from 0; print "file NUMBER
# INODE BYTES" of each. The data are random, so that no file system compresses them.
fill() {
    read -r kept <"$job/kept"
    dd if=/dev/urandom of="$kept/seed" bs=4096 count=64 2>/dev/null || no_room
    number=0
    for size; do
        pieces=$((size / 262144 + 1))
        while [ $pieces -gt 0 ]; do
            cat "$kept/seed" || break
            pieces=$((pieces - 1))
        done 2>/dev/null | head -c "$size" >"$kept/$number" || no_room
        number=$((number + 1))
    done
    rm "$kept/seed"
    sync
    number=0
    for size; do
        # shellcheck disable=SC2046
        set -- $(ls -dlni "$kept/$number")
        [ "$6" = "$size" ] || no_room
        echo "file $number $1 $6"
        number=$((number + 1))
    done
}

no_room() {
    die "the files of the judgement cannot be written to $kept" \
        "make room there, or choose another disk's folder: --folder DIR"
}
