#!/bin/sh
# Times the reading of squashfs images that are in memory, after the text of passes.sh.
#
# Each is read in four ways: a page of each block that compresses less (d*.head) or more (l*.head)
# than the median, whole blocks (*.head and *.rest), and nothing (empty files). Empty files make all
# open as many files.
# Prints for each image "nothing|dense|light|blocks NAME PASSES HUNDREDTHS", and "refused NAME" for
# an image that the kernel does not mount.

spent() { computed; } # a page is unpacked by the process that reads it

read_nothing() { cat "$1"/empty* "$1"/empty*; }
read_dense() { cat "$1"/d*.head "$1"/empty-l* "$1"/empty*; }
read_light() { cat "$1"/l*.head "$1"/empty-d* "$1"/empty*; }
# In the order of their names: the rest follows its head, while its block is in squashfs's cache.
read_blocks() { cat "$1"/*.*; }

for image; do
    if ! mounted squashfs "$image"; then
        printf 'refused %s\n' "$image"
        continue
    fi
    unmounted
    for way in nothing dense light blocks; do
        passes squashfs "$way" "$image"
    done
done
