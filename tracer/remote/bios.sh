# shellcheck shell=sh disable=SC2034,SC2154
# The bios of some time, recorded by an instance of ftrace of its own and added up: what fingerprints
# are made of (Moilanen, I/O Workload Fingerprinting in the Genetic-Library, Linux Symposium 2006).
#
# Settings: watched (disks, all if empty), buffer_kib (per CPU; what is beyond it is not looked at).

# make_bios: make the instance that records them; set made to it.
make_bios() {
    [ -d "$tracing/events/block/block_bio_queue" ] ||
        die "the bios cannot be watched: $tracing has no event block:block_bio_queue" \
            "run as root, on a kernel with CONFIG_FTRACE and event tracing"
    for disk in $watched; do
        [ -e "/sys/block/$disk/dev" ] ||
            die "no disk is called $disk" "the disks there are: $(echo /sys/block/*)"
    done
    make_instance bios "$buffer_kib"
}

# number_disks: give every watched disk a number, which all its partitions have, in disks; set
# filter to the events that are theirs.
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

# The text of a trace added up: reads, writes, sectors, and of those bios whose predecessor on the
# disk was seen their number, the sectors between both starts, and how many begin far from its end.
# By awk: a shell takes five times as long for a line.
# shellcheck disable=SC2016
sum_up='
BEGIN {
    for (i = split(disks, one, " "); i > 0; i--) {
        split(one[i], pair, "=")
        number[pair[1]] = pair[2]
    }
}
{
    at = index($0, "block_bio_queue: ") # no process can have a name as long as that
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

# select_bios INSTANCE: have it record those of the disks that number_disks has found.
select_bios() {
    echo "$filter" >"$1/events/block/block_bio_queue/filter"
    echo 1 >"$1/events/block/block_bio_queue/enable"
    # Who and when is not asked: half the text.
    { echo 0 >"$1/options/context-info"; } 2>/dev/null
}

# sum_bios INSTANCE: print the sums of what it has recorded.
sum_bios() {
    awk -v disks="$disks" "$sum_up" "$1/trace"
}
