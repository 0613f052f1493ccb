# shellcheck shell=sh disable=SC2154
# Prints what the buffers of the kernel hold; the host calls it at intervals. It is a script of its
# own, after brief.sh and unread.sh.
#
# usage: SHELL DIRECTORY/take.sh LEASE QUIET PAGE_BYTES DATA_BYTES MOST
#   LEASE  as of job.sh
#   QUIET  yes: touches are no longer recorded until a disk is read again
#   MOST   pages of a CPU
# It prints "cpu NUMBER PAGES LOST" and so many pages for every CPU; "gone" without an owner.
# shellcheck source=/dev/null
. "$job/settings"
renew_lease "$1"

read -r made <"$job/instances"
if [ "$2" = yes ]; then
    for event in $touches; do
        { echo 0 >"$made/events/${event%%:*}/${event#*:}/enable"; } 2>/dev/null
    done
fi
for cpu in "$made"/per_cpu/cpu*; do
    count_pages "$cpu" "$5" "$4"
    echo "cpu ${cpu##*/cpu} $count $lost"
    print_pages "$cpu" "$3"
done
read -r owner _ <"$job/owner"
[ -d "/proc/$owner" ] || echo gone
