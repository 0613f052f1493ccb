"""The names of an EROFS image: the reads of a lookup in the kernel (fs/erofs/namei.c, inode.c)."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from foreread.emulator.images.erofs import ErofsImage
from foreread.emulator.images.erofs_format import SLOT, SUPERBLOCK_AT
from foreread.emulator.images.erofs_reads import Call, ErofsReader, Read
from foreread.emulator.images.erofs_rules import PAGE
from foreread.emulator.images.links import Walk

_LARGE_INODE = 64  # bytes: erofs_inode_extended


@dataclass
class ErofsLookups:
    """The names that are in memory; the root always is."""

    reader: ErofsReader
    known: set[str] = field(default_factory=lambda: {"/"})
    blocks: set[tuple[str, int]] = field(default_factory=set)  # of directories

    @property
    def image(self) -> ErofsImage:
        """The image."""
        return self.reader.image

    def mount(self) -> Call:
        """erofs_fc_fill_super: read the superblock, and the inodes of root and fragments."""
        call, image = Call(), self.image
        self.reader.read_metadata(SUPERBLOCK_AT, 1, call)
        self.reader.read_metadata(image.folders["/"].inode_at, SLOT, call)
        if image.fragments >= 0:
            self.reader.read_metadata(int(image.files["inode_at"][image.fragments]), SLOT, call)
        return call

    def look_up(self, path: str) -> tuple[Call, str | None]:
        """Return the reads of a lookup of an absolute path, links followed, and the resolved path.

        The resolved path is None if the path does not exist; the reads up to there count.
        """
        call, walk = Call(), Walk(path, self.image.inodes, self.image.links)
        for folder, here in walk:
            self._step(folder, here.rpartition("/")[2], here, call)
        return call, walk.end

    def _step(self, folder: str, name: str, here: str, call: Call) -> None:
        """erofs_lookup: search a directory, and read the inode of the name."""
        if here in self.known:
            return
        self.known.add(here)
        self._search(folder, os.fsencode(name), call)
        number = self.image.inodes.get(here)
        if number is not None:
            self.reader.read_metadata(*self._inode(here, number), call)

    def _search(self, path: str, name: bytes, call: Call) -> None:
        """erofs_find_target_block: a binary search by the first names of blocks."""
        folder = self.image.folders.get(path)
        low, high = 0, len(folder.names) - 1 if folder else -1
        while folder and low <= high:
            middle = low + (high - low) // 2
            self._read_block(path, middle, call)
            if name == folder.names[middle]:
                return
            if name < folder.names[middle]:
                high = middle - 1
            else:
                low = middle + 1

    def _read_block(self, path: str, number: int, call: Call) -> None:
        folder = self.image.folders[path]
        if (path, number) in self.blocks:
            return
        self.blocks.add((path, number))
        place = folder.places[number]
        if folder.inline and number == len(folder.places) - 1:
            self.reader.read_metadata(place, 1, call)
        else:
            call.reads.append(Read(place, PAGE, True))

    def _inode(self, path: str, number: int) -> tuple[int, int]:
        """Return place and length of an inode."""
        image = self.image
        row = image.names[path]
        if row >= 0:
            at, end = (int(image.files[name][row]) for name in ("inode_at", "inode_end"))
        elif path in image.folders:
            at, end = image.folders[path].inode_at, image.folders[path].inode_end
        else:
            at = image.superblock.meta_at + number * SLOT
            end = at + SLOT
        return at, min(end - at, _LARGE_INODE)
