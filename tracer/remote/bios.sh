# shellcheck shell=sh disable=SC2034,SC2154
# Records the bios of a period in a separate ftrace instance and sums them up. The sums are the
# input of fingerprints (Moilanen, I/O Workload Fingerprinting in the Genetic-Library, Linux
# Symposium 2006).
#
# Settings: watched (disks, all if empty), buffer_kib (per CPU; bios that do not fit are not
# counted).

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
# sectors, and how many start far from the predecessor's end. In awk: a shell takes five times as
# long per line.
# shellcheck disable=SC2016
sum_up='
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
}
END { printf "%.0f %.0f %.0f %.0f %.0f %.0f\n", reads, writes, sectors, followers, distances, jumps }'

# select_bios INSTANCE: record the bios of the disks that number_disks found.
select_bios() {
    echo "$filter" >"$1/events/block/block_bio_queue/filter"
    echo 1 >"$1/events/block/block_bio_queue/enable"
    # Without process and time the text is half as long.
    { echo 0 >"$1/options/context-info"; } 2>/dev/null
}

# sum_bios INSTANCE: print the sums over the recorded bios.
sum_bios() {
    awk -v disks="$disks" "$sum_up" "$1/trace"
}
