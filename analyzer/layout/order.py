"""One order of files from the captures of several starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np

from foreread.analyzer.error import AnalyzerError
from foreread.analyzer.ingest.recording import Recording
from foreread.tracer.formats.capture import dev_of

_LINK_NEEDS_NAME = "record again"


class LayoutError(AnalyzerError, ValueError):
    """An order that cannot be made or written; ``remedy`` says what to do."""


@dataclass(frozen=True)
class Start:
    """What a start reads of one file system: paths inside it, in the order of first access.

    ``pages`` are the distinct pages accessed of each, ``rows`` their rows in the recording;
    ``weight`` says how much the start counts. ``unnamed_pages`` are of files with an unknown path.
    ``mountpoint`` is where the file system was mounted.
    """

    files: tuple[str, ...]
    pages: tuple[int, ...]
    weight: float = 1.0
    unnamed_pages: int = 0
    rows: tuple[int, ...] = ()
    mountpoint: str = "/"


@dataclass(frozen=True)
class Ordered:
    """A file in the order: ``starts`` (positions of the starts) read it, ``pages`` in all."""

    path: str
    starts: tuple[int, ...]
    pages: int


def start_of(recording: Recording, mountpoint: str | None = None, weight: float = 1.0) -> Start:
    """Return what a recorded start reads of the file system at a mount point.

    Without ``mountpoint`` it is that of which most pages are read. Raises LayoutError if nothing is
    read there.
    """
    if weight <= 0:
        raise LayoutError(f"a weight of {weight:g}", "give a weight above 0")
    place = _mounted_at(recording, mountpoint) if mountpoint else file_systems(recording)[0]
    start = start_on(recording, place, weight)
    if not any(recording.paths):
        raise LayoutError(
            "the recording has no path of a file that was read",
            "record with foreread record, which looks up the paths",
        )
    if not start.files:
        raise LayoutError(
            f"the start reads no named file of the file system at {start.mountpoint}",
            "give the mount point of the image with --mountpoint",
        )
    return start


def start_on(recording: Recording, place: tuple[int, str], weight: float = 1.0) -> Start:
    """Return what a recorded start reads of a file system, by its dev_t and mount point."""
    dev, prefix = place
    here = recording.files["dev"][recording.accesses["file"]] == dev
    rows, first = np.unique(recording.accesses["file"][here], return_index=True)
    files, pages, named, unnamed = [], [], [], 0
    for row in rows[np.argsort(first, kind="stable")].tolist():
        accessed = int(recording.files["accessed"][row])
        path = inside(recording.paths[row], prefix)
        if path is None:
            unnamed += accessed
            continue
        files.append(path)
        named.append(row)
        pages.append(accessed)
    return Start(tuple(files), tuple(pages), weight, unnamed, tuple(named), prefix)


def order_of(starts: Sequence[Start]) -> tuple[Ordered, ...]:
    """Return one order for all starts.

    Files that the same starts read are neighbours, so that no start reads a block for another one's
    files. Such groups are sorted by the weight of their starts, the heaviest first; in
    each the order is that of the first access in its heaviest start. Files that no start reads are
    not listed.
    """
    used: dict[str, list[int]] = {}
    pages: dict[str, int] = {}
    for number, start in enumerate(starts):
        for path, count in zip(start.files, start.pages, strict=True):
            used.setdefault(path, []).append(number)
            pages[path] = max(pages.get(path, 0), count)
    rank = [{path: at for at, path in enumerate(start.files)} for start in starts]

    def key(path: str) -> tuple[float, list[int], int]:
        users = used[path]
        heaviest = max(users, key=lambda number: (starts[number].weight, -number))
        weight = sum(starts[number].weight for number in users)
        return -weight, users, rank[heaviest][path]

    return tuple(Ordered(path, tuple(used[path]), pages[path]) for path in sorted(used, key=key))


def file_systems(recording: Recording) -> list[tuple[int, str]]:
    """Return dev_t and mount point of each file system that a start reads, the most read first.

    Raises LayoutError if the start reads none.
    """
    accessed = recording.files["accessed"].astype(np.int64)
    if not accessed.sum():
        raise LayoutError("the capture has no page that was read from a disk", _LINK_NEEDS_NAME)
    devs, inverse = np.unique(recording.files["dev"], return_inverse=True)
    pages = np.bincount(inverse.ravel(), accessed)
    mounts = recording.capture.mounts
    places = []
    for row in np.argsort(-pages, kind="stable").tolist():
        dev = int(devs[row])
        of_dev = [mount.mountpoint for mount in mounts if dev_of(mount.dev) == dev]
        places.append((dev, min(of_dev, key=len, default="/")))
    return places


def _mounted_at(recording: Recording, mountpoint: str) -> tuple[int, str]:
    """Return dev_t and mount point of the file system that the user names."""
    mounts = recording.capture.mounts
    wanted = str(PurePosixPath(mountpoint))
    matching = [mount for mount in mounts if mount.mountpoint == wanted]
    if not matching:
        mountpoints = ", ".join(mount.mountpoint for mount in mounts) or "none"
        raise LayoutError(
            f"the capture has no file system at {wanted}", f"give one of: {mountpoints}"
        )
    return dev_of(matching[-1].dev), wanted


def inside(path: str | None, prefix: str) -> str | None:
    """Return a path as it is inside the image, from "/" on; None if that is unknown."""
    if path is None or not path.startswith("/"):
        return None
    if prefix == "/":
        return path
    return path.removeprefix(prefix) if path.startswith(f"{prefix}/") else None
