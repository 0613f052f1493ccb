# shellcheck shell=sh disable=SC2034,SC2154
# One run of fio under settings, which are restored afterwards (knobs.sh). If watched names a disk,
# its statistics and bios (bios.sh) during the run are printed, too.
#   sh -c THIS sh LIMIT_S [KNOB VALUE]... <JOB
# Prints facts, or "error TEXT|REMEDY"; after a line "measured" fio's report.

# set_all [KNOB VALUE]...: set the knobs in that order; none may be refused, nor be another one's
# victim.
set_all() {
    while [ $# -gt 0 ]; do
        set_knob "$1" "$2" >"$job/set" || die "$job is full" "make room in memory"
        ! grep -q '^unset ' "$job/set" || die "$(sed -n 's/^unset //p' "$job/set" | tr -s '\t' ' ')" \
            "choose a value that the kernel takes"
        grep '^knob ' "$job/set" >>"$job/taken"
        shift 2
    done
    [ ! -e "$job/taken" ] || while IFS=$tab read -r knob _ taken; do
        value_of "${knob#knob }"
        [ "$value" = "$taken" ] || die "${knob#knob } became $value with another setting" \
            "set it after that one"
    done <"$job/taken"
}

# statistics KEY: print what the disk has counted.
statistics() {
    [ -z "$watched" ] || fact "$1" "/sys/block/$watched/stat"
}

# put_all_back: leave nothing; what is not as it was is said.
put_all_back() {
    trap '' INT TERM HUP
    restore "$job" restored
    remove_tracing "$job"
    release_lock "$job"
    rm -rf "$job"
}

limit_s=$1
shift
need cat fio grep mkdir mv rm sed sync timeout tr
mkdir "$job" || die "$job cannot be made" "run as root, with a /run that can be written to"
trap put_all_back EXIT
trap 'exit 1' INT TERM HUP
trap '' PIPE # whoever asked may be gone; what was begun is put back all the same
cat >"$job/fio"
start_of $$
echo "$$ $started" >"$job/owner"
if [ $# -gt 0 ]; then
    take_lock || exit 1
    undo_leftovers
fi
set_all "$@"
if [ -n "$watched" ]; then
    find_tracefs
    make_bios
    number_disks
    select_bios "$made"
fi
sync # fio empties the page cache of its file, but for what is dirty
statistics before
[ -z "$watched" ] || echo 1 >"$made/tracing_on"
report=$(timeout -k 5 "$limit_s" fio --output-format=json "$job/fio" 2>&1) ||
    die "fio: $(echo "$report" | tr '\n|' '  ')" "run its job by hand"
[ -z "$watched" ] || echo 0 >"$made/tracing_on"
statistics after
[ -z "$watched" ] || echo "bios $(sum_bios "$made")"
trap - EXIT
put_all_back
printf 'measured\n%s\n' "$report"
