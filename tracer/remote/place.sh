# shellcheck shell=sh
# Makes the folder of one job, in memory so that nothing of it is read or written on a disk, and
# prints its name. Where there is none, prints why not. It may be removed when its lease is over.
#
# usage: sh -c TEXT sh TOKEN
set -u
umask 077
lease_s=250

# kind DIRECTORY: set fs to the type of the file system that DIRECTORY is on.
kind() {
    best='' fs=''
    while read -r _ point type _; do
        case $1/ in
        "${point%/}"/*) [ ${#point} -lt ${#best} ] || best=$point fs=$type ;;
        esac
    done </proc/mounts
}

tried=
for place in /run /dev/shm /tmp /var/run /var/tmp; do
    [ -d "$place" ] || continue
    kind "$place"
    case $fs in
    tmpfs | ramfs | rootfs)
        if mkdir "$place/foreread-$1" 2>/dev/null; then
            echo "place $place/foreread-$1"
            read -r now rest </proc/uptime
            echo $((${now%.*}00 + lease_s * 100)) >"$place/foreread-$1/lease"
            echo "uptime $now $rest"
            exit
        fi
        ;;
    esac
    tried="$tried $place ($fs)"
done
echo "error no folder in memory can be written:$tried|mount one: mount -t tmpfs tmpfs /tmp"
exit 1
