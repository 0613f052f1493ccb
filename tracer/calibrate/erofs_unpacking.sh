#!/bin/sh
# Times the reading of EROFS images that are in memory: erofs_unpacking.sh FOLDER HUNDREDTHS NAME…
#
# FOLDER has the images NAME, all of the same files; each is mounted on FOLDER/mnt and read whole again and
# again, since its pages leave memory with the mount, for HUNDREDTHS of a second at least.
# Prints "kernel RELEASE", for each image "files NAME PASSES HUNDREDTHS", and "refused NAME" for an
# image that the kernel does not mount or cannot unpack.
set -eu
folder=$1 least=$2
shift 2

# now: set now to hundredths of a second since boot.
now() {
    read -r now _ </proc/uptime
    now=${now%.*}${now#*.}
    now=${now#"${now%%[!0]*}"}
}

mounted() { mount -t erofs -o loop,ro "$folder/$1" "$folder/mnt" 2>/dev/null; }
# A loop device may be busy for a moment.
unmounted() { umount "$folder/mnt" 2>/dev/null || { sleep 1 && umount "$folder/mnt"; }; }

mkdir -p "$folder/mnt"
trap 'umount "$folder/mnt" 2>/dev/null || :' EXIT
printf 'kernel %s\n' "$(uname -r)"
for image; do
    if ! mounted "$image"; then
        printf 'refused %s\n' "$image"
        continue
    fi
    if ! cat "$folder"/mnt/* >/dev/null 2>&1; then
        unmounted
        printf 'refused %s\n' "$image"
        continue
    fi
    unmounted
    now
    since=$now
    count=0
    while :; do
        mounted "$image"
        cat "$folder"/mnt/* >/dev/null
        unmounted
        count=$((count + 1))
        now
        [ $((now - since)) -lt "$least" ] || break
    done
    printf 'files %s %d %d\n' "$image" "$count" "$((now - since))"
done
