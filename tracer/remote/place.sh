# shellcheck shell=sh
# Makes the folder of one job and prints its name. It is in memory, so that the job does not read or
# write a disk. If no place will do, prints why. The folder may be removed after its lease expires.
#
# usage: sh -c TEXT sh TOKEN [HOST|-]
#   HOST  the owner's tag, if the host is this machine: noted, so that a dead one is noticed
#   -     remove the folder of a job that was interrupted before its script was there
# foreread_places in the environment are other places than the usual ones.
set -u
umask 077
lease_s=250
room_kib=256 # room for the script, the command's output and the answers

# kind DIRECTORY: set fs to the type of the file system that DIRECTORY is on.
kind() {
    best='' fs=''
    while read -r _ point type _; do
        case $1/ in
        "${point%/}"/*) [ ${#point} -lt ${#best} ] || best=$point fs=$type ;;
        esac
    done </proc/mounts
}

# has_room FOLDER: write the lease, and check that everything else will fit; sets now and rest.
has_room() {
    # A target without dd is refused later, with all the other commands that it lacks.
    if command -v dd >/dev/null; then
        dd if=/dev/zero of="$1/room" bs=1024 count=$room_kib 2>/dev/null || return 1
        rm "$1/room"
    fi
    read -r now rest </proc/uptime
    { echo $((${now%.*}00 + lease_s * 100)) >"$1/lease"; } 2>/dev/null
}

tried=
for place in ${foreread_places:-/run /dev/shm /tmp /var/run /var/tmp}; do
    [ -d "$place" ] || continue
    [ "${2-}" != - ] || {
        # Twice: what was being copied into it may appear during the first removal.
        rm -rf "$place/foreread-$1" 2>/dev/null || rm -rf "$place/foreread-$1"
        continue
    }
    kind "$place"
    case $fs in
    tmpfs | ramfs | rootfs)
        if mkdir "$place/foreread-$1" 2>/dev/null; then
            [ -z "${2-}" ] || { echo "$2" >"$place/foreread-$1/host"; } 2>/dev/null
            if has_room "$place/foreread-$1"; then
                echo "place $place/foreread-$1"
                echo "uptime $now $rest"
                exit
            fi
            rm -rf "$place/foreread-$1"
            fs="$fs, full"
        fi
        ;;
    esac
    tried="$tried $place ($fs)"
done
[ "${2-}" != - ] || exit 0
echo "error no writable folder in memory has $room_kib KiB free:$tried|delete files there, or mount one: mount -t tmpfs tmpfs /tmp"
exit 1
