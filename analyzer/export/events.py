"""The events of a run as one table, the source of every exported format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from foreread.analyzer.error import AnalyzerError
from foreread.analyzer.ingest.tables import Array, Column, Rwbs, Schema, Table
from foreread.boards.base.printable import printable
from foreread.emulator.linux.operations import Cause
from foreread.tracer.formats.capture import dev_text

NONE = -1  # an event without a file, thread or place


class ExportError(AnalyzerError, ValueError):
    """A capture that cannot be exported in the requested way."""


class Track(IntEnum):
    """The kind of an event."""

    ACCESSES = 0  # first touch of a page
    REQUESTS = 1  # a request, from the driver to its completion
    UNUSED = 2  # pages that were read and never accessed
    WAITING = 3  # a thread that is off its processor


class Wait(IntEnum):
    """The reason why a thread waited."""

    PROCESSOR = 0  # it could have run
    SLEEP = 1  # time, the network, another process
    THREAD = 2  # another thread of the application
    DISK = 3


EXPORTED = Schema(
    "exported",
    (
        Column("run", "u2", "", "0: the recorded run; n: the n-th emulated one"),
        Column("track", "u1", "Track", "what it belongs to"),
        Column("start_ns", "i8", "ns", "since the start of its run"),
        Column("duration_ns", "i8", "ns", "0 for an access; -1: no end was recorded"),
        Column("thread", "i4", "", "kernel thread id; -1 if none"),
        Column("file", "i4", "row", "row of the files table; -1 if none"),
        Column("page", "i8", "pages", "first page index in the file; -1 if none"),
        Column("pages", "i8", "pages", "number of pages"),
        Column("dev", "u4", "dev_t", "disk of a request; else 0"),
        Column("sector", "i8", "512 B", "first sector of a request; -1 if none"),
        Column("sectors", "i8", "512 B", "length of a request"),
        Column("detail", "u2", "", "REQUESTS: Rwbs; UNUSED: Cause + 1, or 0; WAITING: Wait"),
    ),
)


@dataclass(frozen=True, eq=False)
class Exported:
    """All events, in order of run, track and time.

    ``runs`` are the names of the runs, the recorded one first; ``files`` the names, without control
    characters, of the rows that ``file`` refers to; ``threads`` the names of some threads by id;
    ``notes`` name missing data.
    """

    events: Table
    runs: tuple[str, ...]
    files: tuple[str, ...]
    threads: dict[int, str]
    page_size: int
    notes: tuple[str, ...]

    def name(self, file: int) -> str:
        """Return the name of a file; empty for an event without one."""
        return "" if file < 0 else self.files[file]

    def thread(self, thread: int) -> str:
        """Return the name of a thread."""
        name = self.threads.get(thread)
        return f"thread {thread}" if name is None else f"thread {thread} {name}"


def events_of(run: int, track: Track, rows: int, **columns: object) -> Table:
    """Return ``rows`` events; columns that are not passed are empty."""
    base: dict[str, object] = {"run": run, "track": track, "thread": NONE, "file": NONE}
    filled = {**base, "page": NONE, "sector": NONE, **columns}
    events = Table.empty(EXPORTED, rows)
    for name, values in filled.items():
        events[name][:] = values
    return events


def joined(parts: Sequence[Table]) -> Table:
    """Return all events in order of run, track and time."""
    columns = {
        column.name: np.concatenate([part[column.name] for part in parts])
        for column in EXPORTED.columns
    }
    keys = ("duration_ns", "start_ns", "track", "run")
    order = np.lexsort([columns[key] for key in keys])
    return Table(EXPORTED, {name: array[order] for name, array in columns.items()})


def what(track: int, detail: int) -> str:
    """Return the meaning of an event's ``detail`` in a word or two."""
    match track:
        case Track.REQUESTS:
            return _request(detail)
        case Track.UNUSED:
            return Cause(detail - 1).name.lower() if detail else "unknown rule"
        case Track.WAITING:
            return Wait(detail).name.lower()
    return "access"


def _request(flags: int) -> str:
    names = (Rwbs.WRITE, "write"), (Rwbs.DISCARD, "discard"), (Rwbs.FLUSH, "flush")
    kind = next((name for flag, name in names if flags & flag), "read")
    further = (Rwbs.AHEAD, "ahead"), (Rwbs.META, "metadata")
    return " ".join([kind, *(name for flag, name in further if flags & flag)])


def file_names(paths: Sequence[str | None], devs: Array, inodes: Array) -> tuple[str, ...]:
    """Return a printable name of each file: its path, or device and inode."""
    rows = zip(paths, devs.tolist(), inodes.tolist(), strict=True)
    return tuple(
        printable(path) if path else f"inode {ino} on {dev_text(dev)}" for path, dev, ino in rows
    )
