"""The difference of two builds, kernels or boards as JSON."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from foreread.boards.base.brief import brief
from foreread.boards.base.document import Document, says

Reason = Literal[
    "new",
    "gone",
    "renamed",
    "grown",
    "shrunk",
    "more pages",
    "fewer pages",
    "moved",
    "readahead",
    "settings",
]
CauseKind = Literal["window", "kernel", "disk", "files", "computing", "application"]
MaybeSeconds = Annotated[float | None, says("predicted; null without seconds")]


class DiffSide(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two recordings, with its own window, kernel and disk."""

    __repr__ = brief

    path: str
    recorded: Annotated[str | None, says("when, ISO 8601")]
    kernel: str | None
    machine: str | None
    board: Annotated[str | None, says("machine and processor, in words; null if unknown")]
    model: Annotated[str, says("fixed, or linux-X.Y for the readahead of that kernel")]
    disk: Annotated[str | None, says("cost of the disk's requests, in words")]
    read_ahead_kb: Annotated[int, says("its window, in KiB")]
    window_is: Annotated[str, says("where that window comes from")]
    best_read_ahead_kb: Annotated[int | None, says("its predicted-best window, in KiB")]
    accessed: Annotated[int, says("distinct pages accessed")]
    requests: Annotated[int, says("read requests of file data at its window")]
    pages: Annotated[int, says("pages of file data read at its window")]
    metadata_requests: int | None
    seconds: MaybeSeconds
    seconds_low: Annotated[float | None, says("lower bound of the seconds' band")]
    seconds_high: Annotated[float | None, says("upper bound of the seconds' band")]


class DiffCause(msgspec.Struct, frozen=True, kw_only=True):
    """One step from OLD to NEW: all before it is as in NEW, all after it as in OLD."""

    __repr__ = brief

    kind: CauseKind
    what: str
    requests: Annotated[int | None, says("requests more (or, negative, fewer)")]
    pages: Annotated[int | None, says("pages read more")]
    seconds: Annotated[float | None, says("predicted seconds more")]


class DiffFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is read otherwise. Of one that is not in a build, its figures there are 0."""

    path: Annotated[str, says("in NEW, or in OLD if it is gone")]
    was: Annotated[str | None, says("path in OLD, if it is another")]
    reasons: list[Reason]
    why: str
    size_old: Annotated[int, says("bytes; -1 if unknown")]
    size_new: Annotated[int, says("bytes; -1 if unknown")]
    accessed_old: Annotated[int, says("pages accessed")]
    accessed_new: int
    pages_old: Annotated[int, says("pages read")]
    pages_new: int
    requests_old: int
    requests_new: int
    seconds: Annotated[
        float | None,
        says("seconds more that reading it costs, with the settings of each; null if not replayed"),
    ]


class StartDiff(msgspec.Struct, frozen=True, kw_only=True):
    """The difference of one start."""

    __repr__ = brief

    name: Annotated[str, says("of the start in a suite, else the command")]
    board: Annotated[str | None, says("of a suite")]
    weight: float
    old: DiffSide
    new: DiffSide
    share: Annotated[float | None, says("seconds of NEW against those of OLD, less 1")]
    regressed: Annotated[bool | None, says("null without a limit")]
    causes: list[DiffCause]
    files: Annotated[list[DiffFile], says("what costs most first")]
    doubts: list[str]


class DiffDocument(Document, frozen=True, kw_only=True):
    """What changed from OLD to NEW: ``foreread diff --json``.

    Seconds are weighted sums over the starts that both have.
    """

    old: Annotated[str, says("path of OLD")]
    new: Annotated[str, says("path of NEW")]
    starts: list[StartDiff]
    only_old: Annotated[list[str], says("starts that only OLD has")]
    only_new: Annotated[list[str], says("starts that only NEW has")]
    seconds_old: MaybeSeconds
    seconds_new: MaybeSeconds
    share: Annotated[float | None, says("seconds of NEW against those of OLD, less 1")]
    limit: Annotated[float | None, says("--max-regression, as a share; null without one")]
    regressed: Annotated[
        bool | None, says("whether all starts together, or one, exceed the limit; null without one")
    ]
    notes: list[str]
