"""An EROFS image as tables: its files, and the places of their pieces."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from foreread.emulator.images.erofs_clusters import Cluster, IndexPlaces, clusters_of, index_places
from foreread.emulator.images.erofs_format import (
    CHUNKS,
    COMPRESSED,
    INLINE,
    MOST_DIRECTORY,
    ErofsInode,
    ErofsSuperblock,
    chunk_pieces,
    first_name,
    flat_pieces,
    read_erofs_directory,
    read_erofs_inode,
    read_erofs_superblock,
)
from foreread.emulator.images.source import Budget, ImageError, Octets, Source

MOST_NAMES = 1_000_000
MOST_PATHS = 256 << 20  # bytes
MOST_PIECES = 4_000_000
_LONGEST_PATH = 4095  # bytes: PATH_MAX without its NUL
# A regular file: rows [first, first + pieces) of the pieces. ``inode_at``, ``inode_end``: the bytes
# of its inode, attributes included; its indexes follow.
EROFS_FILE = np.dtype(
    [
        ("inode", "u8"),
        ("size", "u8"),
        ("inode_at", "u8"),
        ("inode_end", "u8"),
        ("first", "u8"),
        ("pieces", "u4"),
        ("layout", "u1"),
    ],
    align=True,
)
# Bytes [at, at + length) of a file, from ``stored`` bytes at ``place`` of the image, or, of a
# fragment, of the inode of fragments.
PIECE = np.dtype(
    [
        ("at", "u8"),
        ("length", "u8"),
        ("place", "u8"),
        ("stored", "u8"),
        ("packed", "u1"),
        ("fragment", "u1"),
    ],
    align=True,
)


@dataclass(frozen=True, eq=False)
class ErofsImage:
    """The tables of an image.

    ``names`` maps each path, from "/" on, to the row of ``files``, -1 if it is not a regular file;
    ``inodes`` maps it to the number of its inode. ``fragments`` is the row of the file with the
    fragments, -1 without one. ``indexes`` are, by file, the places of the cluster indexes, None if
    it has none. ``links`` are the targets of symbolic links, ``folders`` the directories, both by
    path.
    """

    superblock: ErofsSuperblock
    files: npt.NDArray[np.void]
    pieces: npt.NDArray[np.void]
    names: dict[str, int]
    inodes: dict[str, int]
    fragments: int
    indexes: tuple[IndexPlaces | None, ...] = ()
    links: dict[str, str] = field(default_factory=dict)
    folders: dict[str, Folder] = field(default_factory=dict)


@dataclass(frozen=True)
class Folder:
    """A directory: the places of its blocks, in their order, and the first name in each.

    ``inline``: the last block is among the metadata. Bytes [inode_at, inode_end) are its inode.
    """

    inode_at: int
    inode_end: int
    places: tuple[int, ...]
    names: tuple[bytes, ...]
    inline: bool


def read_erofs(octets: Octets) -> ErofsImage:
    """Return the tables of an image. Raises ImageError for an unreadable image.

    Memory and time are bounded by MOST_NAMES, MOST_PATHS and MOST_PIECES.
    """
    source = Source(octets)
    tree = _Tree(source, read_erofs_superblock(source))
    fragments = tree.file(tree.superblock.packed) if tree.superblock.packed else -1
    tree.walk()
    return ErofsImage(
        tree.superblock,
        np.array(tree.files, EROFS_FILE),
        np.array(tree.pieces, PIECE),
        tree.names,
        tree.inodes,
        fragments,
        tuple(tree.indexes),
        tree.links,
        tree.folders,
    )


def pieces_of(
    source: Source, superblock: ErofsSuperblock, inode: ErofsInode, budget: Budget
) -> Iterator[Cluster]:
    """Yield the pieces of a file in their order; holes are left out."""
    if inode.layout in COMPRESSED:
        yield from clusters_of(source, superblock, inode, budget) if inode.size else ()
        return
    if inode.layout == CHUNKS:
        budget.spend(-(-inode.size // superblock.block_size))
        pieces = chunk_pieces(source, superblock, inode)
    else:
        pieces = flat_pieces(superblock, inode)
    for at, place, length in pieces:
        if place + length > len(source):
            raise ImageError("damaged image: the data of a file is outside the image")
        yield Cluster(at, length, place, length, 0)


@dataclass(eq=False)
class _Tree:
    """The names and files read so far."""

    source: Source
    superblock: ErofsSuperblock
    files: list[tuple[int, ...]] = field(default_factory=list)
    pieces: list[tuple[int, int, int, int, int, bool]] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    inodes: dict[str, int] = field(default_factory=dict)
    rows: dict[int, int] = field(default_factory=dict)  # by inode
    indexes: list[IndexPlaces | None] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    folders: dict[str, Folder] = field(default_factory=dict)
    names_left: Budget = field(default_factory=lambda: Budget(MOST_NAMES, "names"))
    paths_left: Budget = field(default_factory=lambda: Budget(MOST_PATHS, "bytes of paths"))
    pieces_left: Budget = field(default_factory=lambda: Budget(MOST_PIECES, "pieces of files"))

    def walk(self) -> None:
        """Read all names. A directory may have one name only."""
        superblock = self.superblock
        waiting = [("", read_erofs_inode(self.source, superblock, superblock.root))]
        if not waiting[0][1].is_directory:
            raise ImageError("damaged image: the root is not a directory")
        self._add("/", superblock.root, -1)
        seen = {superblock.root}
        while waiting:
            path, inode = waiting.pop()
            octets = self._contents(inode)
            # The whole listing is checked before _folder reads the first name of each block.
            listed = list(read_erofs_directory(octets, superblock.block_size))
            self.folders[path or "/"] = self._folder(inode, octets)
            for name, number in listed:
                child = read_erofs_inode(self.source, superblock, number)
                below = f"{path}/{os.fsdecode(name)}"
                self._add(below, number, self.file(number) if child.is_file else -1)
                if child.is_link:
                    self.links[below] = os.fsdecode(self._contents(child))
                if child.is_directory:
                    if number in seen:
                        raise ImageError("damaged image: a directory has two names")
                    seen.add(number)
                    waiting.append((below, child))

    def _add(self, path: str, inode: int, row: int) -> None:
        if len(path) > _LONGEST_PATH:
            raise ImageError("damaged image: a path is too long")
        self.names_left.spend(1)
        self.paths_left.spend(len(path))
        self.names[path], self.inodes[path] = row, inode

    def file(self, number: int) -> int:
        """Return the row of a file, which is added if it is new."""
        if number in self.rows:
            return self.rows[number]
        inode = read_erofs_inode(self.source, self.superblock, number)
        first = len(self.pieces)
        for piece in pieces_of(self.source, self.superblock, inode, self.pieces_left):
            row = (piece.at, piece.length, piece.place, piece.stored, piece.packed, piece.fragment)
            self.pieces.append(row)
        count = len(self.pieces) - first
        self.pieces_left.spend(1)
        compressed = inode.layout in COMPRESSED
        places = index_places(self.source, self.superblock, inode) if compressed else None
        self.indexes.append(places)
        at = (inode.at, inode.end, first, count, inode.layout)
        self.files.append((number, inode.size, *at))
        self.rows[number] = len(self.files) - 1
        return self.rows[number]

    def _folder(self, inode: ErofsInode, octets: bytes) -> Folder:
        """Return a directory with the first name of each block; blocks are in rows of pieces."""
        size = self.superblock.block_size
        pieces = list(pieces_of(self.source, self.superblock, inode, self.pieces_left))
        places = [
            at for piece in pieces for at in range(piece.place, piece.place + piece.length, size)
        ]
        names = [first_name(octets[at : at + size]) for at in range(0, len(octets), size)]
        inline = bool(pieces) and inode.layout == INLINE
        return Folder(inode.at, inode.end, tuple(places), tuple(names), inline)

    def _contents(self, inode: ErofsInode) -> bytes:
        """Return the listing of a directory, or the target of a link; they are not compressed."""
        if inode.size > MOST_DIRECTORY:
            raise ImageError(f"a directory of more than {MOST_DIRECTORY:,} bytes")
        if inode.layout in COMPRESSED:
            raise ImageError(
                "the image's directories are compressed, which foreread cannot read",
                "build it without compressed metadata",
            )
        self.paths_left.spend(inode.size)
        pieces = pieces_of(self.source, self.superblock, inode, self.pieces_left)
        return b"".join(
            self.source.read(piece.place, piece.length, "a directory") for piece in pieces
        )
