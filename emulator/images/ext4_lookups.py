"""The metadata of ext4 that the kernel reads (fs/ext4/inode.c, namei.c, extents.c, 6.12)."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from foreread.emulator.images.erofs_reads import Read
from foreread.emulator.images.ext4 import Ext4Image
from foreread.emulator.images.links import Walk
from foreread.emulator.linux.inode_tables import InodeTable

_AHEAD = 32  # EXT4_DEF_INODE_READAHEAD_BLKS
_BATCH = 8  # NAMEI_RA_SIZE


@dataclass
class Ext4Lookups:
    """The names and the blocks of metadata that are in memory; the root always is."""

    image: Ext4Image
    known: set[str] = field(default_factory=lambda: {"/"})
    blocks: set[int] = field(default_factory=set)
    begins: dict[str, int] = field(default_factory=dict)  # i_dir_start_lookup of directories
    reads: list[Read] = field(default_factory=list)

    def look_up(self, path: str) -> str | None:
        """Read the metadata of a lookup, links followed; return the resolved path or None."""
        walk = Walk(path, self.image.names, self.image.links)
        for folder, here in walk:
            if here not in self.known:
                self.known.add(here)
                self._search(folder, os.fsencode(here.rpartition("/")[2]))
                if here in self.image.names:
                    self._read_inode(self.image.names[here])
        return walk.end

    def read_tree(self, number: int) -> None:
        """ext4_find_extent: read the blocks with a file's extents."""
        for block in self.image.inodes[number].tree:
            self._read(block, block + 1)

    def _search(self, path: str, name: bytes) -> None:
        """__ext4_find_entry: block by block from the last match's block on, eight at a time."""
        folder = self.image.folders.get(path)
        count = len(folder.blocks) if folder else 0
        begin = self.begins.get(path, 0)
        order = [*range(begin, count), *range(begin)]
        for first in range(0, count, _BATCH):
            batch = order[first : first + _BATCH]
            for number in batch:
                if folder:
                    self._read(folder.blocks[number], folder.blocks[number] + 1)
            matches = [number for number in batch if folder and name in folder.names[number]]
            if matches:
                self.begins[path] = matches[0]
                return

    def _read_inode(self, number: int) -> None:
        """__ext4_get_inode_loc: the blocks around the inode's block in the table, then that block.

        The inode's block is locked before the others are read ahead, and so no part of their
        requests.
        """
        inode = self.image.inodes[number]
        if inode.block in self.blocks:
            return
        around = InodeTable(inode.table, inode.until).around(inode.block, _AHEAD)
        self._read(around.start, inode.block)
        self._read(inode.block + 1, around.stop)
        self._read(inode.block, inode.block + 1)

    def _read(self, begin: int, until: int) -> None:
        """Read blocks that are not in memory, adjacent blocks in one request."""
        size = self.image.superblock.block_size
        run = 0
        for block in range(begin, until):
            if block in self.blocks:
                run = 0
                continue
            self.blocks.add(block)
            if run:
                self.reads[-1].length += size
            else:
                self.reads.append(Read(block * size, size, True))
            run += 1
