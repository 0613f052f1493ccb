# shellcheck shell=sh disable=SC2034,SC2154
# Records the bios of a period in a separate ftrace instance and sums them up. The sums are the
# input of fingerprints (Moilanen, I/O Workload Fingerprinting in the Genetic-Library, Linux
# Symposium 2006).
#
# Settings: watched (disks, all if empty), buffer_kib (per CPU; bios that do not fit are not
# counted), by_process (not empty: sums by process too, from a text of twice the length).

# make_bios: create the ftrace instance; set made to its directory.
make_bios() {
    [ -d "$tracing/events/block/block_bio_queue" ] ||
        die "cannot record bios: $tracing has no event block:block_bio_queue" \
            "run as root, on a kernel with CONFIG_FTRACE and event tracing"
    for disk in $watched; do
        [ -e "/sys/block/$disk/dev" ] ||
            die "there is no disk $disk" "choose one of $(echo /sys/block/*)"
    done
    make_instance bios "$buffer_kib"
}

# number_disks: number the watched disks in disks (a partition has the number of its disk); set
# filter to select their events.
number_disks() {
    numbered=0 filter='' disks=''
    for disk in ${watched:-/sys/block/*}; do
        disk=${disk##*/}
        for dev in "/sys/block/$disk/dev" "/sys/block/$disk"/*/dev; do
            { IFS=: read -r major minor <"$dev"; } 2>/dev/null || continue
            disks="$disks $major,$minor=$numbered"
            filter="$filter${filter:+ || }dev == $(((major << 20) + minor))"
        done
        numbered=$((numbered + 1))
    done
    [ -n "$watched" ] || filter=0
}

# Sums over the text of a trace: reads, writes, sectors; then, over the bios whose predecessor on
# the same disk was recorded: their number, the distance from the predecessor's start to theirs in
# sectors, and how many start far from the predecessor's end. With by_process three more: the
# number of processes that have at least one in twenty of the bios; over the bios whose predecessor
# of the same process on the same disk was recorded, their number, and how many do not start at its
# end (IOPerf, section 4). In awk: a shell takes five times as long per line.
# shellcheck disable=SC2016
sum_up='
# owner TEXT: the pid in "  NAME-PID  [CPU] ...", where the name may hold anything.
function owner(text,   i, word) {
    for (i = split(text, word, " "); i > 2; i--) if (word[i] ~ /^\[[0-9]+\]$/) break
    while (i > 2 && word[i - 1] ~ /[()]/) i-- # the group of threads, on some kernels
    sub(/^.*-/, "", word[i - 1])
    return word[i - 1]
}
BEGIN {
    for (i = split(disks, one, " "); i > 0; i--) {
        split(one[i], pair, "=")
        number[pair[1]] = pair[2]
    }
}
{
    at = index($0, "block_bio_queue: ") # longer than any process name
    if (!at || split(substr($0, at + 17), bio, " ") < 5) next
    if (!(bio[1] in number) || bio[2] !~ /[RW]/ || bio[5] + 0 == 0) next
    disk = number[bio[1]]
    start = bio[3] + 0
    if (bio[2] ~ /W/) writes++; else reads++
    sectors += bio[5]
    if (disk in end) {
        followers++
        distances += start > begun[disk] ? start - begun[disk] : begun[disk] - start
        if (start > end[disk] + 25 || start < end[disk] - 25) jumps++
    }
    begun[disk] = start
    end[disk] = start + bio[5]
    if (!by_process) next
    pid = owner(substr($0, 1, at - 1))
    queued[pid]++
    own = pid " " disk
    if (own in own_end) {
        own_followers++
        if (start != own_end[own]) own_jumps++
    }
    own_end[own] = start + bio[5]
}
END {
    printf "%.0f %.0f %.0f %.0f %.0f %.0f", reads, writes, sectors, followers, distances, jumps
    if (by_process) {
        for (pid in queued) if (20 * queued[pid] >= reads + writes) processes++
        printf " %.0f %.0f %.0f", processes, own_followers, own_jumps
    }
    print ""
}'

# select_bios INSTANCE: record the bios of the disks that number_disks found.
select_bios() {
    echo "$filter" >"$1/events/block/block_bio_queue/filter"
    echo 1 >"$1/events/block/block_bio_queue/enable"
    # Without process and time the text is half as long.
    [ -n "${by_process-}" ] || { echo 0 >"$1/options/context-info"; } 2>/dev/null
}

# sum_bios INSTANCE: print the sums over the recorded bios.
sum_bios() {
    awk -v disks="$disks" -v by_process="${by_process-}" "$sum_up" "$1/trace"
}
