#!/bin/sh
# Times the reading of EROFS images that are in memory, after the text of passes.sh.
#
# Each is of the same files, and is read whole. Prints for each image "files NAME PASSES HUNDREDTHS",
# and "refused NAME" for an image that the kernel does not mount or cannot unpack.

# spent: set now to hundredths of a second, those of the kernel's threads (children of process 2)
# among them: what is read ahead is unpacked by one of them.
spent() {
    computed
    for thread in /proc/[0-9]*/stat; do
        { read -r line <"$thread"; } 2>/dev/null || continue # it ended meanwhile
        # shellcheck disable=SC2086  # the fields after the name: state, parent, …
        set -- ${line##*) }
        [ "$2" != 2 ] || now=$((now + ${13})) # stime
    done
}

read_files() { cat "$1"/*; }

for image; do
    if ! mounted erofs "$image"; then
        printf 'refused %s\n' "$image"
        continue
    fi
    if ! reads files 2>/dev/null; then
        unmounted
        printf 'refused %s\n' "$image"
        continue
    fi
    unmounted
    passes erofs files "$image"
done
