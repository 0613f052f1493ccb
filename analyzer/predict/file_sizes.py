"""The sizes of files where a trace has none: up to the last page that entered the page cache.

The traces of 13 captures, read without their sizes: with files that end there the unused pages of a
window of 128 pages were 0.2 to 2.4 % too few, with endless files 2.6 to 12.5 times too many.
"""

from __future__ import annotations

import numpy as np

from analyzer.ingest.accesses import rows_of
from analyzer.ingest.inserts import folio_pages
from analyzer.ingest.recording import Recording
from analyzer.ingest.tables import Array
from boards.base.counted import plural


def sizes_of(recording: Recording) -> Array:
    """Return the size of each file in bytes (i8); -1 where a capture does not have it."""
    size = recording.files["size_bytes"]
    if recording.capture.foreread is not None or not (size < 0).any():
        return size
    pages = np.zeros(recording.files.rows, np.int64)
    accesses = recording.accesses
    np.maximum.at(pages, accesses["file"], accesses["page"].astype(np.int64) + 1)
    if recording.inserts is not None:
        data = recording.inserts.data
        row, known = rows_of(recording.files, data)
        end = data["index"].astype(np.int64) + folio_pages(data)
        np.maximum.at(pages, row[known], end[known])
    return np.where(size < 0, pages * recording.page_size, size)


def sizes_note(recording: Recording) -> str | None:
    """Return what is assumed of accessed files without a known size; None if all have one."""
    files = recording.files
    unknown = int(((files["size_bytes"] < 0) & (files["accessed"] > 0)).sum())
    if not unknown:
        return None
    said = f"{plural(unknown, 'accessed file', 'has')} no known size: "
    if recording.capture.foreread is not None:
        return f"{said}requests there are not clipped at the end of the file, so G is too high"
    return (
        f"{said}each counts up to the last page that was read of it, so G may be a little too low; "
        "--inodes FILE gives the sizes"
    )
