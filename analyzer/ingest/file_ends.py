"""Pages after the end of a file: inserted into the page cache, without any of its data."""

from __future__ import annotations

import numpy as np

from foreread.analyzer.ingest.inserts import READ_ONLY_FILE_SYSTEMS, devices_of
from foreread.analyzer.ingest.tables import Array, Table
from foreread.emulator.linux.rules import KernelError, PastEnd, rules_for, version_of


def within_files(
    accesses: Table, files: Table, page_size: int, fstypes: dict[int, str], kernel: str | None
) -> Array:
    """Return a mask of the accesses that are not beyond the end of a file.

    squashfs inserts the pages of a whole block, also after the end of a shorter file. Kernels that
    find a page before they see that a file has ended insert an empty one after its last page. In
    other cases the file was longer when it was read.
    """
    size = files["size_bytes"]
    fixed = np.isin(files["dev"], devices_of(fstypes, READ_ONLY_FILE_SYSTEMS))
    pages = np.where(fixed & (size >= 0), -(-size // page_size), np.iinfo(np.int64).max)
    within = accesses["page"] < pages[accesses["file"]].astype(np.uint64)
    if kernel is None or not _reads_past_end(kernel):
        return np.asarray(within)
    empty = np.where((size >= 0) & (size % page_size == 0), size // page_size, -1)
    return np.asarray(within & (accesses["page"].astype(np.int64) != empty[accesses["file"]]))


def _reads_past_end(kernel: str) -> bool:
    """Return whether a read(2) at the end of a file inserts an empty page."""
    try:
        return rules_for(version_of(kernel)).reads_past_end != PastEnd.NOTHING
    except KernelError:
        return False
