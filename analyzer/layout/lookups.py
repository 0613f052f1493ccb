"""The names that a recorded start looks up in an image, and the other metadata that it read.

A capture with probes has the path of each open(2), also of those that found nothing. stat(2) and
the like are not recorded: metadata that squashfs read and that no open explains stand for them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from typing import Protocol

import numpy as np

from foreread.analyzer.ingest.accesses import of_threads
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.layout.order import inside
from foreread.emulator.images.links import Walk
from foreread.emulator.images.reads import Touched
from foreread.emulator.images.relaid_metadata import inode_rows
from foreread.emulator.images.squashfs import SquashfsImage
from foreread.emulator.images.squashfs_metadata import HEADER
from foreread.emulator.linux.requests import SECTOR

_OPEN = "foreread:openat"
_FROM_CWD = -100  # AT_FDCWD
_PASSES = 6  # each lookup that is added changes what squashfs has in its cache afterwards

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
        entries_by_row: dict[int, list[tuple[bytes, int]]] = {}
        parents = self.image.names["parent"].tolist()
        for path, row in self.image.rows.items():
            if row:
                name = os.fsencode(path.rpartition("/")[2])
                entries_by_row.setdefault(parents[row], []).append((name, row))
        for rows in entries_by_row.values():
            rows.sort()
        return entries_by_row

    def walk(self, path: str) -> Iterator[Touch]:
        """Yield the touches of looking up an absolute path: its names, links followed.

        A name that is not there costs the listing up to where its search ends.
        """
        rows = self.image.rows
        for above, here in Walk(path, rows, self.image.links):
            if here in rows:
                yield Touched.NAME, rows[here]
            else:
                yield from self._not_found(rows.get(above, -1), here.rpartition("/")[2], here)

    def _not_found(self, directory: int, name: str, path: str) -> Iterator[Touch]:
        """squashfs_lookup ends at the first name that begins with a later character."""
        listed = self.children.get(directory)
        if not listed or path in self.missing:
            return
        self.missing.add(path)
        wanted = os.fsencode(name)[:1]
        ends = (row for other, row in listed if other[:1] > wanted)
        yield Touched.SEARCH, next(ends, listed[-1][1])


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
    lookups = []
    columns = (opens[column][mask].tolist() for column in ("time_ns", "dfd", "path"))
    for time_ns, dfd, octets in zip(*columns, strict=True):
        path = _absolute(recording, dfd, os.fsdecode(octets))
        below = None if path is None else inside(path, prefix)
        if below is not None:
            lookups.append(Lookup(time_ns, tuple(names.walk(below))))
    return lookups


def _absolute(recording: Recording, dfd: int, path: str) -> str | None:
    """Return an absolute path; None if it begins in a directory that the capture does not name."""
    if path.startswith("/") or not path:
        return path or None
    capture = recording.capture
    if np.int64(dfd).astype(np.int32) != _FROM_CWD or not capture.cwd:
        return None
    return f"{capture.cwd.rstrip('/')}/{path}"


def hidden_lookups(
    image: SquashfsImage,
    opened: Sequence[Lookup],
    recorded: Sequence[tuple[int, int]],
    modelled: Callable[[Sequence[Lookup]], Sequence[int]],
) -> list[Lookup]:
    """Return what stands for recorded reads of metadata that nothing known explains.

    Args:
        image: the image that was recorded.
        opened: the lookups that the capture shows.
        recorded: time and row of the metadata that was read (``metadata_reads``).
        modelled: returns the rows of the metadata that the model reads with more lookups, in the
            order of time.
    """
    stand_in = _StandIns(image, opened)
    rows = [row for _, row in recorded]
    lookups: list[Lookup] = []
    now = list(modelled(lookups))
    for _ in range(_PASSES):
        unexplained = (recorded[at] for at in _only_in_first(rows, now))
        more = [
            Lookup(time_ns, (touch,))
            for time_ns, row in unexplained
            if (touch := stand_in.touch(row, time_ns)) is not None
        ]
        tried = sorted([*lookups, *more], key=lambda lookup: lookup.time_ns)
        then = list(modelled(tried))
        if differing(rows, then) >= differing(rows, now):
            break
        lookups, now = tried, then
    return lookups


def _only_in_first(rows: Sequence[int], others: Sequence[int]) -> Iterator[int]:
    """Yield the places of rows that the longest common order of both lacks."""
    matcher = SequenceMatcher(a=rows, b=others, autojunk=False)
    for tag, first, until, _, _ in matcher.get_opcodes():
        if tag in ("delete", "replace"):
            yield from range(first, until)


def differing(rows: Sequence[int], others: Sequence[int]) -> int:
    """Return how many reads differ, in any order."""
    wanted, other_rows = Counter(rows), Counter(others)
    return ((wanted - other_rows) + (other_rows - wanted)).total()


def metadata_reads(
    recording: Recording, image: SquashfsImage, dev: int, first_sector: int, unit: int
) -> list[tuple[int, int]]:
    """Return time and row of the metadata blocks that were read, in the order of time.

    Where the rest of a block shares its device blocks with the length of another one, it is known
    by both its reads. Elsewhere that of the rest will do: some kernels keep the length in memory.
    Reads are in multiples of ``unit`` bytes.
    """
    at, end = (image.metadata[name].astype(np.int64) for name in ("at", "end"))
    lengths, rest = _in_units(at, at + HEADER, unit), _in_units(at + HEADER, end, unit)
    of_length: dict[tuple[int, int], list[int]] = {}
    for number, place in enumerate(lengths):
        of_length.setdefault(place, []).append(number)
    alone = {place: number for number, place in enumerate(rest) if place not in of_length}
    requests = recording.requests
    mine = requests["dev"] == dev
    columns = (requests[name][mine].tolist() for name in ("issue_ns", "sector", "sectors"))
    reads: list[tuple[int, int]] = []
    expected: dict[tuple[int, int], int] = {}
    for time_ns, sector, sectors in zip(*columns, strict=True):
        begin = (sector - first_sector) * SECTOR
        place = begin, begin + sectors * SECTOR
        row = expected.get(place, alone.get(place))
        if row is not None:
            reads.append((time_ns, row))
            expected = {}
        else:
            expected |= {rest[row]: row for row in of_length.get(place, ())}
    return reads


def _in_units(at: Array, end: Array, unit: int) -> list[tuple[int, int]]:
    """Return the bytes that are read for bytes [at, end)."""
    return list(zip((at // unit * unit).tolist(), (-(-end // unit) * unit).tolist(), strict=True))


class _StandIns:
    """Names whose lookup reads a metadata block, for blocks that were read for unknown names.

    What a start looks up without opening it lies near what it opens: programs try several names
    before one that exists. So a name that is opened at about that time comes first.
    """

    def __init__(self, image: SquashfsImage, opened: Sequence[Lookup]) -> None:
        self.inodes = inode_rows(image)
        times = _times(opened)
        self.entries: dict[int, list[tuple[int, int]]] = {}  # by block: times and rows of names
        self.opened: dict[int, list[tuple[int, int]]] = {}
        self.others: dict[int, list[int]] = {}
        columns = ("first", "lookups", "inode_at", "file", "known")
        rows = zip(*(image.names[name].tolist() for name in columns), strict=True)
        gets = image.gets
        directories: dict[int, list[int]] = {}
        self.listed: dict[int, list[int]] = {}
        for row, (first, lookups, inode_at, file, again) in enumerate(rows):
            when = times.get(row)
            if lookups:
                block = int(gets[first + lookups - 1])
                self.listed.setdefault(block, []).append(row)
                if when is not None:
                    self.entries.setdefault(block, []).append((when, row))
            if again:
                continue
            if when is not None:
                self.opened.setdefault(inode_at, []).append((when, row))
            else:
                of_kind = directories if file < 0 else self.others
                of_kind.setdefault(inode_at, []).append(row)
        self.others |= directories
        for each in (*self.entries.values(), *self.opened.values()):
            each.sort()

    def touch(self, metadata: int, time_ns: int) -> Touch | None:
        """Return the touch of a name in a block read at a time; None for the small tables."""
        if metadata < self.inodes:
            later = [row for when, row in self.opened.get(metadata, ()) if when >= time_ns]
            rows = later[:1] or _middle(self.others.get(metadata, []))
            return (Touched.INODE, rows[0]) if rows else None
        near = sorted(self.entries.get(metadata, ()), key=lambda entry: abs(entry[0] - time_ns))
        rows = [row for _, row in near[:1]] or _middle(self.listed.get(metadata, []))
        return (Touched.ENTRY, rows[0]) if rows else None


def _times(opened: Sequence[Lookup]) -> dict[int, int]:
    """Return when each name was first looked up (ns)."""
    first_ns: dict[int, int] = {}
    for lookup in opened:
        for _, row in lookup.touches:
            first_ns.setdefault(row, lookup.time_ns)
    return first_ns


def _middle(rows: list[int]) -> list[int]:
    return rows[len(rows) // 2 :][:1]
