"""Where a recorded start's files are in an image, and whether it was recorded on that image."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.layout.order import LayoutError, Start, file_systems, start_of, start_on
from foreread.boards.base.counted import plural
from foreread.emulator.linux.rules import Version, version_of

NO_FILE = -1
# Of the start's pages: fewer in files of the recorded sizes, and the image is another one.
_LEAST_SAME = 0.5
_REMEDY = "give the image that the capture was recorded on, or its mount point: --mountpoint"


@dataclass(frozen=True)
class Found:
    """A start, and the image's row of each file by the recording's row, or NO_FILE.

    ``changed`` are paths of other sizes, ``missing`` paths that the image does not have.
    """

    start: Start
    version: Version
    file: Array
    changed: tuple[str, ...]
    missing: tuple[str, ...]


def found_in(
    recording: Recording,
    row_of: Callable[[str], int | None],
    size_of: Callable[[int], int],
    mountpoint: str | None = None,
    weight: float = 1.0,
) -> Found:
    """Return a start with the rows of its files in an image.

    Args:
        recording: the start.
        row_of: the image's row of a path; NO_FILE: it is not a file; None: the image lacks it.
        size_of: the bytes of the file in a row.
        mountpoint: where the image was mounted; None: the file system with most of its files.
        weight: how much the start counts.

    Raises:
        LayoutError: the kernel is unknown, or most of the start's reads are of files that the image
            does not have, or has in another size.
    """
    if recording.kernel is None:
        raise LayoutError("the capture does not say which kernel ran", "record again")
    starts = _starts(recording, mountpoint, weight)
    matches = [_match(recording, start, row_of, size_of) for start in starts]
    # Pages in files of the image, less those that are in none of it.
    same_pages, best = max(matches, key=lambda match: 2 * match[0] - sum(match[1].start.pages))
    _refuse_another(best.start, bool((best.file != NO_FILE).any()), same_pages)
    return best


def _starts(recording: Recording, mountpoint: str | None, weight: float) -> list[Start]:
    """Return what a start reads of the file system at a mount point, or of each one."""
    if mountpoint is None:
        starts = [start_on(recording, place, weight) for place in file_systems(recording)]
        if named := [start for start in starts if start.files]:
            return named
    return [start_of(recording, mountpoint, weight)]


def _match(
    recording: Recording,
    start: Start,
    row_of: Callable[[str], int | None],
    size_of: Callable[[int], int],
) -> tuple[int, Found]:
    """Return the start with the rows of its files, and its pages in files of the same size."""
    file = np.full(len(recording.paths), NO_FILE, np.int64)
    changed, missing, same_pages = list[str](), list[str](), 0
    for row, path, pages in zip(start.rows, start.files, start.pages, strict=True):
        if _is_link(recording, row):
            continue  # the text of a symbolic link is in its inode
        place = row_of(path)
        if place is None:
            missing.append(path)
        elif place != NO_FILE:
            file[row] = place
            if size_of(place) == recording.files["size_bytes"][row]:
                same_pages += pages
            else:
                changed.append(path)
    version = version_of(recording.kernel or "")
    return same_pages, Found(start, version, file, tuple(changed), tuple(missing))


def _is_link(recording: Recording, row: int) -> bool:
    entry = recording.entries[row] if row < len(recording.entries) else None
    return entry is not None and entry.link


def _refuse_another(start: Start, any_file: bool, same_pages: int) -> None:
    """Raise LayoutError for a start that reads other pages than the image's."""
    if not any_file:
        raise LayoutError(
            f"the start reads {plural(len(start.files), 'file')}, and the image has none of them",
            _REMEDY,
        )
    if same_pages < _LEAST_SAME * sum(start.pages):
        raise LayoutError(
            f"the capture was recorded on another image: {1 - same_pages / sum(start.pages):.0%} "
            "of the pages that the start reads are in files that this image does not have or has "
            "in another size",
            _REMEDY,
        )
