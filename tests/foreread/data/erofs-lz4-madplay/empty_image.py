"""Leave of an EROFS image what a prediction reads: python empty_image.py IMAGE CAPTURE OUTPUT.

Superblock, inodes, directories, and the indexes of the capture's files stay where they are. All
data becomes zeros, and files that the start does not read become empty. OUTPUT is an xz file.
"""

import lzma
import sys
from pathlib import Path

from foreread import load
from foreread.analyzer.layout.on_erofs import on_erofs
from foreread.emulator.images.erofs import read_erofs

BLOCK = 4096


def main():
    """Write OUTPUT."""
    image, capture, output = map(Path, sys.argv[1:])
    octets = bytearray(image.read_bytes())
    tables = read_erofs(bytes(octets))
    kept = {row for row in on_erofs(load(capture), tables).rows if row >= 0}
    clear_data(octets, tables)
    for row in range(len(tables.files)):
        if row not in kept:
            clear_file(octets, tables, row)
    output.write_bytes(lzma.compress(bytes(octets), preset=9 | lzma.PRESET_EXTREME))


def clear_data(octets, tables):
    """Clear what files contain."""
    for _, length, place, stored, packed, fragment in tables.pieces.tolist():
        if not fragment:
            size = stored if packed else length
            until = place + size if place % BLOCK else -(-(place + size) // BLOCK) * BLOCK
            until = min(until, len(octets))
            octets[place:until] = bytes(until - place)


def clear_file(octets, tables, row):
    """Make a file empty, and clear its indexes."""
    file, indexes = tables.files[row], tables.indexes[row]
    blocks = -(-int(file["size"]) // BLOCK)
    if indexes is not None and blocks:
        until = indexes.of(blocks - 1) + 8
        octets[indexes.at : until] = bytes(until - indexes.at)
    at = int(file["inode_at"])
    width = 8 if octets[at] & 1 else 4  # of i_size in an extended and a compact inode
    octets[at + 8 : at + 8 + width] = bytes(width)


if __name__ == "__main__":
    main()
