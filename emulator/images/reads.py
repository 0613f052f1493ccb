"""The tables of touches in an image, and of the reads of its device that follow."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from foreread.emulator.linux.requests import SECTOR, Limits


class Touched(IntEnum):
    """The kind of a touch."""

    NAME = 0  # row: of the names; a path is looked up
    BLOCK = 1  # row: of the files, number: of a block that the page cache lacks
    SEARCH = 2  # row: of the names; its directory's listing is read up to it, without its inode
    ENTRY = 3  # row: of the names; only the last metadata block of its lookup
    INODE = 4  # row: of the names; the metadata of its inode without its lookup


class ReadOf(IntEnum):
    """The kind of a read."""

    HEADER = 0  # the length of a metadata block
    METADATA = 1
    DATA = 2
    FRAGMENT = 3  # a block with the ends of several files


# In the order of time.
TOUCH = np.dtype([("kind", "u1"), ("row", "u4"), ("number", "u4")], align=True)
# A read of bytes [at, at + length) of the image; ``touch`` is the row of its touch, ``row`` the row
# of the metadata, the blocks or the fragments.
READ = np.dtype(
    [("kind", "u1"), ("touch", "u4"), ("row", "u4"), ("at", "u8"), ("length", "u4")], align=True
)


def request_count(reads: npt.NDArray[np.void], limits: Limits, page_size: int) -> int:
    """Return the requests of reads (READ): one each, more where the disk's limit is smaller."""
    sectors = -(-reads["length"].astype(np.int64) // SECTOR)
    return int((-(-sectors // limits.block_sectors(page_size))).sum())


def metadata_rows(reads: npt.NDArray[np.void]) -> list[int]:
    """Return the rows of the metadata blocks of reads (READ), in their order."""
    rows: list[int] = reads["row"][reads["kind"] == ReadOf.METADATA].tolist()
    return rows
