# shellcheck shell=sh
# A workload of a pattern, from its beginning to its end: so many processes that read a disk through
# the page cache, and write files, in stretches of requests that follow each other. The same numbers
# make the same requests on the same board.
#
# usage: sh -c TEXT sh PROCESSES READ% RANDOM% KIB DISK MIB [FOLDER]
#   MIB     of all requests together, at most
#   FOLDER  for what is written; without one, everything is read
set -u
processes=$1 reads=$2 random=$3 kib=$4 disk=$5 mib=$6 folder=${7-}
[ "$kib" -gt 0 ] || kib=1
[ -n "$folder" ] || reads=100
file_kib=4096 # of each process: it is written over and over
at_once=128   # stretches of all processes: each is a dd of its own

# plan PROCESS: print its stretches, a line "VERB FIRST COUNT" each, in requests.
plan() {
    awk -v process="$1" -v processes="$processes" -v reads="$reads" -v random="$random" \
        -v kib="$kib" -v mib="$mib" -v sectors="$sectors" -v file_kib="$file_kib" \
        -v at_once="$at_once" '
    function least(a, b) { return a < b ? a : b }
    BEGIN {
        srand(process)
        left = mib * 1024 / kib
        if (random > 0) left = least(left, at_once * 100 / random)
        left = int(left / processes)
        if (left < 4) left = 4
        region = int(sectors / 2 / kib / processes)
        while (left > 0) {
            verb = rand() * 100 < reads ? "r" : "w"
            room = verb == "r" ? region : int(file_kib / kib)
            if (room < 1) room = 1
            for (count = 1; count < left && count < room && rand() * 100 >= random; count++);
            first = int(rand() * (room - count + 1))
            if (verb == "r") first += (process - 1) * region
            printf "%s %.0f %.0f\n", verb, first, count
            left -= count
        }
    }'
}

# act PROCESS: do what is planned.
act() {
    plan "$1" | while read -r verb first count; do
        case $verb in
        r) dd if="/dev/$disk" of=/dev/null bs="${kib}k" skip="$first" count="$count" ;;
        w)
            dd if=/dev/zero of="$written/$1" bs="${kib}k" seek="$first" count="$count" \
                conv=notrunc,fsync
            ;;
        esac 2>/dev/null || exit 1
    done
}

clean() {
    [ -z "$folder" ] || rm -rf "$written"
}

read -r sectors <"/sys/block/$disk/size" || exit 1
written=$folder/.foreread-pattern
trap clean EXIT
trap 'exit 1' HUP INT TERM
if [ -n "$folder" ]; then
    [ ! -L "$written" ] || exit 1
    rm -rf "$written" # a reset machine's
    mkdir "$written" || exit 1
fi
pids=''
process=1
while [ "$process" -le "$processes" ]; do
    act "$process" &
    pids="$pids $!"
    process=$((process + 1))
done
for pid in $pids; do
    wait "$pid" || exit 1
done
