# One run of fio under settings, which are put back afterwards.
#   sh -c THIS sh LIMIT_S [KNOB VALUE]... <JOB
# Knobs are written in that order, and put back in the other. The first line says what came of it:
# "refused" or "failed", each with a reason; or "measured", with fio's report behind it.
# shellcheck shell=sh
set -u
export LC_ALL=C
limit_s=$1
shift

end() {
    printf '%s %s\n' "$1" "$(printf %s "$2" | tr -s '\n' ' ')"
    exit 0
}

# in_force KNOB: what it says; of schedulers, the one in brackets.
in_force() {
    case $1 in
    */scheduler) sed 's/.*\[\(.*\)\].*/\1/' "$1" ;;
    *) cat "$1" ;;
    esac
} 2>/dev/null

# set_knob KNOB VALUE: noted first, so that it is put back however this ends.
set_knob() {
    before=$(in_force "$1") || end refused "$1 cannot be read"
    undo="$1 $before
$undo"
    said=$( (printf '%s\n' "$2" >"$1") 2>&1) || end refused "$1 takes no $2: $said"
}

put_back() {
    trap '' INT TERM HUP
    printf %s "$undo" | while read -r knob value; do
        printf '%s\n' "$value" >"$knob"
    done
}

job=$(cat)
undo=
for tool in fio timeout; do
    command -v "$tool" >/dev/null || end failed "$tool is not installed"
done
trap put_back EXIT
trap 'exit 1' INT TERM HUP
trap '' PIPE # whoever asked may be gone; what was begun is put back all the same
while [ $# -gt 0 ]; do
    set_knob "$1" "$2"
    shift 2
done
sync # fio empties the page cache of its file, but for what is dirty
said=$(printf '%s\n' "$job" | timeout -k 5 "$limit_s" fio --output-format=json - 2>&1) ||
    end failed "fio: $said"
printf 'measured\n%s\n' "$said"
