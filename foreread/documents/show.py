"""The document of ``foreread show --json``."""

from __future__ import annotations

from typing import Annotated

import msgspec

from foreread.analyzer.load.document import ShownLoad
from foreread.boards.base.document import Document, says
from foreread.tracer.formats.scenario import IDLE


class ShownFile(msgspec.Struct, frozen=True):
    """A file of the capture, and what a fixed window reads of it."""

    dev: Annotated[str, says("major:minor of the file system")]
    ino: Annotated[int, says("inode number")]
    path: Annotated[str | None, says("null if unknown")]
    size_bytes: Annotated[int, says("-1 if unknown")]
    pages_accessed: int
    requests: Annotated[
        int | None, says("read requests of the fixed window; null without a known window")
    ]
    pages_wasted: Annotated[
        int | None,
        says("pages that the fixed window reads unused; null without a known window"),
    ]


class Slice(msgspec.Struct, frozen=True):
    """One of the equal slices of the run."""

    start_seconds: Annotated[float, says("seconds since the run began")]
    pages: Annotated[int, says("pages accessed in the slice")]


class ShowDocument(Document, frozen=True, kw_only=True):
    """What is inside a capture or a trace file."""

    format: Annotated[str, says("format of the trace")]
    kernel: Annotated[str | None, says("uname -r; null if unknown")]
    page_size: Annotated[int, says("bytes of a page")]
    page_size_assumed: Annotated[bool, says("nothing in the trace proves the page size")]
    recorded_read_ahead_kb: Annotated[int | None, says("window in KiB during the recording")]
    contaminated: Annotated[bool, says("true: recorded with readahead on")]
    command: Annotated[list[str] | None, says("null for a foreign trace")]
    exit_status: int | None
    ended_by: Annotated[str | None, says("what ended the recording")]
    wall_seconds: float | None
    backend: Annotated[str | None, says("what recorded")]
    cold: Annotated[bool | None, says("whether the run was proven cold")]
    resident_pages: Annotated[int | None, says("pages still cached when the run began")]
    events: Annotated[dict[str, int], says("decoded events by kind")]
    lost: Annotated[dict[str, int], says("lost events by CPU")]
    lost_events: Annotated[int | None, says("lost events, at least; null if none are counted")]
    accesses: Annotated[int, says("pages accessed")]
    not_accesses: Annotated[dict[str, int], says("pages that do not count, by reason")]
    window: Annotated[
        int | None,
        says("the fixed window of the files' figures, in pages; null if the trace has none"),
    ]
    files: Annotated[list[ShownFile], says("by falling number of accessed pages")]
    disk: Annotated[str | None, says("the probe of the disk in words")]
    requests_by_sectors: Annotated[
        dict[int, int], says("read requests of the application by length in 512-byte sectors")
    ]
    timeline: list[Slice]
    scenario: Annotated[str, says("the load beside the start; idle without one")] = IDLE
    load: Annotated[
        ShownLoad | None, says("null unless a load, or a start beside a load, was recorded")
    ] = None
    notes: list[str]
