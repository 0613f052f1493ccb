"""The names that a recorded start looks up in an image, and the metadata that was read besides.

A capture with probes has the path of each open(2), also of those that found nothing. stat(2) and
the like are not recorded: metadata that squashfs read and that no open explains stand for them.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from analyzer.ingest.accesses import of_threads
from analyzer.ingest.recording import Recording
from analyzer.ingest.tables import Array
from analyzer.layout.order import inside
from emulator.images.links import MOST_LINKS
from emulator.images.reads import Touched
from emulator.images.relaid_metadata import inode_rows
from emulator.images.squashfs import SquashfsImage
from emulator.images.squashfs_metadata import HEADER
from emulator.linux.requests import SECTOR

_OPEN = "foreread:openat"
_FROM_CWD = -100  # AT_FDCWD
_ENTRY = 4  # bytes in the list of a file's blocks

Touch = tuple[int, int]  # kind, row of the names


class Walked(Protocol):
    """Names that can be looked up."""

    def walk(self, path: str) -> Iterator[Touch]:
        """Yield the touches of looking up an absolute path."""


@dataclass(frozen=True)
class Lookup:
    """What is looked up at a time (ns of the trace clock)."""

    time_ns: int
    touches: tuple[Touch, ...]


@dataclass(eq=False)
class Names:
    """The names of an image, as a path leads through them."""

    image: SquashfsImage
    missing: set[str] = field(default_factory=set)  # paths that were looked for before

    @cached_property
    def children(self) -> dict[int, list[tuple[bytes, int]]]:
        """Names and rows in each directory, sorted as in its listing."""
        found: dict[int, list[tuple[bytes, int]]] = {}
        parents = self.image.names["parent"].tolist()
        for path, row in self.image.rows.items():
            if row:
                name = os.fsencode(path.rpartition("/")[2])
                found.setdefault(parents[row], []).append((name, row))
        for rows in found.values():
            rows.sort()
        return found

    def walk(self, path: str) -> Iterator[Touch]:
        """Yield the touches of looking up an absolute path: its names, links followed.

        A name that is not there costs the listing up to where its search ends.
        """
        image = self.image
        waiting, found, followed = path.split("/")[::-1], list[str](), 0
        while waiting:
            part = waiting.pop()
            if part in ("", "."):
                continue
            if part == "..":
                del found[-1:]
                continue
            above = "/".join(("", *found)) or "/"
            here = "/".join(("", *found, part))
            row = image.rows.get(here)
            if row is None:
                yield from self._not_found(image.rows.get(above, -1), part, here)
                return
            yield Touched.NAME, row
            if here not in image.links:
                found.append(part)
                continue
            followed += 1
            if followed > MOST_LINKS:
                return
            target = image.links[here]
            if target.startswith("/"):
                found.clear()
            waiting += target.split("/")[::-1]

    def _not_found(self, directory: int, name: str, path: str) -> Iterator[Touch]:
        """squashfs_lookup ends at the first name that begins with a later character."""
        listed = self.children.get(directory)
        if not listed or path in self.missing:
            return
        self.missing.add(path)
        wanted = os.fsencode(name)[:1]
        ends = (row for other, row in listed if other[:1] > wanted)
        yield Touched.SEARCH, next(ends, listed[-1][1])

    def metadata(self, touches: Sequence[Touch]) -> set[int]:
        """Return the rows of metadata that touches need."""
        found: set[int] = set()
        for kind, row in touches:
            name = self.image.names[row]
            count = int(name["gets"] if kind == Touched.NAME else name["lookups"])
            found.update(self.image.gets[int(name["first"]) :][:count].tolist())
        return found


def opened_names(recording: Recording, names: Walked, prefix: str) -> list[Lookup]:
    """Return the lookups of the paths that the start opened, in the order of time.

    ``prefix`` is the mount point of the image. Empty if the capture has no paths of opens.
    """
    read = recording.trace.read_fields
    if read is None or _OPEN not in recording.trace.event_names:
        return []
    opens = read(_OPEN, ("dfd", "path"))
    mask = np.ones(len(opens["time_ns"]), bool)
    if recording.threads is not None:
        mask = of_threads(opens, recording.threads)
    found = []
    columns = (opens[one][mask].tolist() for one in ("time_ns", "dfd", "path"))
    for time_ns, dfd, octets in zip(*columns, strict=True):
        path = _absolute(recording, dfd, os.fsdecode(octets))
        below = None if path is None else inside(path, prefix)
        if below is not None:
            found.append(Lookup(time_ns, tuple(names.walk(below))))
    return found


def _absolute(recording: Recording, dfd: int, path: str) -> str | None:
    """Return an absolute path; None if it begins in a directory that the capture does not name."""
    if path.startswith("/") or not path:
        return path or None
    capture = recording.capture
    if np.int64(dfd).astype(np.int32) != _FROM_CWD or capture is None or not capture.cwd:
        return None
    return f"{capture.cwd.rstrip('/')}/{path}"


def hidden_lookups(
    recording: Recording,
    names: Names,
    dev: int,
    first_sector: int,
    file: Array,
    known: Sequence[Lookup],
) -> list[Lookup]:
    """Return what stands for recorded reads of metadata that nothing known explains.

    Args:
        recording: recorded on squashfs.
        names: those of the image that was recorded.
        dev: dev_t of its disk.
        first_sector: where the image begins on the disk.
        file: row of the image's files by row of the recording's, -1 for others.
        known: the lookups that the capture shows.
    """
    reads = _metadata_reads(recording, names.image, dev, first_sector)
    if not reads:
        return []
    timelines = (_lookups_in_time(names, known), _files_in_time(recording, names, file))
    stand_in = _StandIns(names.image, file[file >= 0])
    found = []
    for time_ns, row in reads:
        near = (rows for one in timelines for rows in _around(one, time_ns))
        touch = None if any(row in rows for rows in near) else stand_in.touch(row)
        if touch is not None:
            found.append(Lookup(time_ns, (touch,)))
    return found


def _metadata_reads(
    recording: Recording, image: SquashfsImage, dev: int, first_sector: int
) -> list[tuple[int, int]]:
    """Return time and row of the metadata blocks that were read.

    A block is known by both its ends; reads of a header alone are left out.
    """
    unit = 2 * SECTOR  # SQUASHFS_DEVBLK_SIZE
    by_place = {
        ((at + HEADER) // unit * unit, -(-end // unit) * unit): row
        for row, (at, end) in enumerate(
            zip(image.metadata["at"].tolist(), image.metadata["end"].tolist(), strict=True)
        )
    }
    requests = recording.requests
    mine = requests["dev"] == dev
    columns = (requests[name][mine].tolist() for name in ("issue_ns", "sector", "sectors"))
    found: list[tuple[int, int]] = []
    for time_ns, sector, sectors in zip(*columns, strict=True):
        at = (sector - first_sector) * SECTOR
        row = by_place.get((at, at + sectors * SECTOR))
        if row is not None and (not found or found[-1][1] != row):
            found.append((time_ns, row))
    return found


Timeline = tuple[list[int], list[set[int]]]  # times (ns), rows of metadata


def _lookups_in_time(names: Names, known: Sequence[Lookup]) -> Timeline:
    return [one.time_ns for one in known], [names.metadata(one.touches) for one in known]


def _files_in_time(recording: Recording, names: Names, file: Array) -> Timeline:
    """Return when the start went on to another file, and the metadata of that file."""
    accesses = recording.accesses
    rows = accesses["file"].astype(np.int64)
    begins = np.flatnonzero(np.diff(rows, prepend=-1))
    metadata = _of_files(names, file[file >= 0])
    found = [metadata.get(int(one), set()) for one in file[rows[begins]]]
    return accesses["time_ns"][begins].astype(np.int64).tolist(), found


def _of_files(names: Names, wanted: Array) -> Mapping[int, set[int]]:
    """Return by file the metadata of its name, inode and list of blocks."""
    image, kept = names.image, set(wanted.tolist())
    found: dict[int, set[int]] = {}
    for row, file in enumerate(image.names["file"].tolist()):
        if file in kept:
            one = image.files[file]
            end = int(one["list_offset"]) + _ENTRY * int(one["blocks"])
            lists = range(int(one["list_at"]), int(one["list_at"]) + end // 8192 + 1)
            found.setdefault(file, set()).update(names.metadata([(Touched.NAME, row)]), lists)
    return found


def _around(timeline: Timeline, time_ns: int) -> list[set[int]]:
    """Return what comes right before and right after a time."""
    times, rows = timeline
    at = int(np.searchsorted(np.array(times), time_ns, "right"))
    return rows[max(at - 1, 0) : at + 1]


class _StandIns:
    """Names whose lookup reads a metadata block, for blocks that were read for unknown names."""

    def __init__(self, image: SquashfsImage, read: Collection[int]) -> None:
        """``read`` are the files that the start is known to read."""
        self.inodes = inode_rows(image)
        self.entries: dict[int, list[int]] = {}
        self.others: dict[int, list[int]] = {}
        self.files: dict[int, list[int]] = {}
        known = {int(one) for one in read}
        columns = ("first", "lookups", "inode_at", "file", "known")
        gets = image.gets
        rows = zip(*(image.names[name].tolist() for name in columns), strict=True)
        for row, (first, lookups, inode_at, file, again) in enumerate(rows):
            if lookups:
                self.entries.setdefault(int(gets[first + lookups - 1]), []).append(row)
            if not again and file not in known:
                of_kind = self.others if file < 0 else self.files
                of_kind.setdefault(inode_at, []).append(row)

    def touch(self, metadata: int) -> Touch | None:
        """Return the touch of a name in the middle of a block; None for the small tables."""
        if metadata < self.inodes:
            rows = self.others.get(metadata) or self.files.get(metadata)
            return (Touched.INODE, rows[len(rows) // 2]) if rows else None
        rows = self.entries.get(metadata)
        return (Touched.ENTRY, rows[len(rows) // 2]) if rows else None
