"""The result of ingest: one trace, decoded and interpreted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from foreread.analyzer.error import AnalyzerError
from foreread.analyzer.ingest.inserts import Inserts
from foreread.analyzer.ingest.squashfs_blocks import BlockLength
from foreread.analyzer.ingest.tables import Array, Table
from foreread.boards.base.brief import brief
from foreread.tracer.formats.capture import FileEntry, Metadata
from foreread.tracer.formats.disk_probe import DiskProbe


class TraceError(AnalyzerError, ValueError):
    """A trace that cannot be read or lacks needed events; ``remedy`` says what to do."""


@dataclass(frozen=True)
class SeenWindows:
    """The windows in force (pages) by superblock (dev_t), and the event that has them."""

    event: str
    pages: dict[int, int]


@dataclass(frozen=True, repr=False)
class Trace:
    """A decoded trace file, before interpretation.

    ``events`` is merged over CPUs in time order (schema EVENTS). ``lost`` counts lost events
    by CPU (-1: unknown), at least; ``uncounted`` says why others would not show, empty if they
    would (losses.py). ``event_names`` are the formats found in the file
    (``system:name``); ``paths`` are those it names by (dev_t, inode); ``windows`` are those in
    its events, where the reader has read them (windows_seen.py); ``read_fields`` decodes fields of
    one event kind on demand. ``page_size_assumed``: nothing in the file proves its ``page_size``.
    ``unread`` counts lines of needed events in a form that is not read.
    """

    __repr__ = brief

    format: str  # "perf.data", "trace.dat v6", "trace.dat v7", "tracefs pages", "tracefs text", …
    events: Table
    page_size: int | None = None
    kernel: str | None = None
    lost: dict[int, int] = field(default_factory=dict)
    uncounted: str = ""
    event_names: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    paths: dict[tuple[int, int], str] = field(default_factory=dict)
    windows: SeenWindows | None = None
    read_fields: Callable[[str, tuple[str, ...]], dict[str, Array]] | None = None
    page_size_assumed: bool = False
    unread: int = 0


@dataclass(frozen=True)
class Recording:
    """An interpreted trace: the page accesses of each thread, in order.

    ``capture`` has what the recorder noted of the run; of another tool's trace all its facts are
    absent. ``probe`` has the requests that show the cost of the disk; None where it was not probed.
    ``paths[i]`` is the path of row i of ``files`` (None if unknown); undecodable bytes are kept as
    surrogate escapes. ``recorded_read_ahead_kb`` is None when the file does not say. ``windows``
    are what another tool's trace says of it, ``fstypes`` the types of file systems by dev_t, as far
    as they are known. ``counts``
    classifies the pages that are not accesses of the application: ``written_or_hole``,
    ``metadata``, ``other_process``, ``readahead``, and if there are any ``read_again``: of these
    the field ``read_again`` has file, page and time (ACCESSES). The kernel had reclaimed them, for
    want of memory. ``devices`` maps a superblock's dev_t to that of the disk whose read_ahead_kb
    governs it. ``threads`` are those whose touches count; None for all. ``inserts`` are all that
    entered the page cache; ``entries[i]`` is what the capture says of row i of ``files``.
    ``load_requests`` are those of the load: of all others, where a start was recorded beside one,
    and all of a recorded load; None without a load. ``path`` is the file or directory that was
    read. ``block_lengths`` are those of squashfs, by dev_t.
    """

    trace: Trace
    capture: Metadata
    accesses: Table
    requests: Table
    files: Table
    paths: tuple[str | None, ...]
    page_size: int
    kernel: str | None
    recorded_read_ahead_kb: int | None
    contaminated: bool
    counts: dict[str, int]
    devices: dict[int, int]
    notes: tuple[str, ...] = ()
    threads: frozenset[int] | None = None
    inserts: Inserts | None = None
    entries: tuple[FileEntry | None, ...] = ()
    path: str | None = None
    probe: DiskProbe | None = None
    windows: SeenWindows | None = None
    fstypes: dict[int, str] = field(default_factory=dict)
    load_requests: Table | None = None
    read_again: Table | None = None
    block_lengths: Mapping[int, BlockLength] = field(default_factory=dict)

    @property
    def block_pages(self) -> dict[int, int]:
        """Return the pages of a block of each squashfs, by dev_t."""
        lengths = self.block_lengths.items()
        return {dev: length.pages(self.page_size) for dev, length in lengths}
