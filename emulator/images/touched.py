"""The blocks of compressed files that the kernel's readahead requests, in order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foreread.emulator.images.reads import TOUCH, Touched


def touched_blocks(
    inserts: npt.NDArray[np.void], files: npt.NDArray[np.void], page_size: int
) -> tuple[npt.NDArray[np.void], npt.NDArray[np.int64]]:
    """Return the touches (TOUCH, of blocks) that fill the pages of ``inserts`` (INSERT), and runs.

    Rows are rows of ``files`` (FILE, operations.py); files without blocks are left out. Each
    ->readahead call reads its blocks in rising order, whole ones; pages beyond the end of a file
    read nothing (squashfs_readahead). The run of a touch is the run of its inserts.
    """
    last = -(-files["size"] // page_size) - 1
    inside = inserts["index"].astype(np.int64) <= last[inserts["file"]]
    kept = inserts[inside & (files["block_pages"][inserts["file"]] > 0)]
    if not len(kept):
        return np.zeros(0, TOUCH), np.zeros(0, np.int64)
    begins = np.flatnonzero(np.diff(kept["run"].astype(np.int64), prepend=-1))
    file = kept["file"][begins]
    each = files["block_pages"][file].astype(np.int64)
    pages = kept["index"].astype(np.int64)
    low = np.minimum.reduceat(pages, begins) // each
    counts = np.maximum.reduceat(pages, begins) // each - low + 1
    touches = np.zeros(int(counts.sum()), TOUCH)
    touches["kind"] = Touched.BLOCK
    touches["row"] = np.repeat(file, counts)
    within = np.arange(len(touches)) - np.repeat(np.cumsum(counts) - counts, counts)
    touches["number"] = np.repeat(low, counts) + within
    return touches, np.repeat(kept["run"][begins].astype(np.int64), counts)
