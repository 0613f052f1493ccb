"""Advice as JSON: what ``foreread advise --json`` prints, and the second section of reports."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from foreread.boards.base.brief import brief
from foreread.boards.base.document import Document, says

RowKind = Literal[
    "window",
    "phases",
    "list",
    "beside",
    "early",
    "access",
    "order",
    "metadata",
    "again",
    "layout",
    "setting",
    "combination",
]

Kib = Annotated[int, msgspec.Meta(ge=0, le=(1 << 31) - 1)]
Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_+][A-Za-z0-9._+-]*$", max_length=200)]


class AdviceRange(msgspec.Struct, frozen=True):
    """Part of a file in bytes."""

    path: str
    offset: int
    length: int


class LaterWindow(msgspec.Struct, frozen=True):
    """A window that comes into force during the start."""

    after_s: Annotated[float, msgspec.Meta(ge=0, le=86_400), says("seconds from the start on")]
    read_ahead_kb: Kib


class TrialSetting(msgspec.Struct, frozen=True):
    """A knob of boards/knobs.toml, and its value."""

    knob: str
    value: str


class TrialAdvice(msgspec.Struct, frozen=True):
    """Advice that a preloaded library gives: of descriptors (fadvise), or mappings (madvise)."""

    call: Annotated[Literal["fadvise", "madvise"], says("what is advised: descriptors or mappings")]
    advice: Annotated[Literal["normal", "random", "sequential"], says("how the file is accessed")]
    path: Annotated[str, says("file on the board")]


class RowTrial(msgspec.Struct, frozen=True, kw_only=True):
    """What ``confirm`` sets up to measure a row, on the same image with the same application."""

    __repr__ = brief

    read_ahead_kb: Annotated[Kib | None, says("window at the start; null: the present one")] = None
    later: list[LaterWindow] = []
    listing: Annotated[
        Name | None, says("file of the prefetch list that is replayed beside; null: none")
    ] = None
    settings: Annotated[list[TrialSetting], says("other settings, in force before the window")] = []
    advice: Annotated[
        list[TrialAdvice], says("what foreread-advice.so, which is preloaded, advises")
    ] = []


class AdviceRow(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to change, or several together, with what it saves and costs."""

    __repr__ = brief

    kind: Annotated[RowKind, says("what is changed; combination: several of the others")]
    what: Annotated[str, says("the change, in words")]
    seconds: Annotated[float, says("predicted seconds of the start with the change")]
    saved: Annotated[float, says("predicted seconds that it saves")]
    band: Annotated[float, says("the saving is known to within this, either way")]
    memory_bytes: Annotated[int, says("bytes read more (or, negative, less) than now")]
    image_bytes: Annotated[int, says("bytes that the image grows by")]
    flash_bytes: Annotated[int, says("bytes written to the board's flash once")]
    effort: str
    risk: str
    how: Annotated[list[str], says("what to type, or to write")]
    measure: Annotated[str | None, says("command that measures it; null if there is none")]
    trial: Annotated[
        RowTrial | None, says("the change as runs can have it; null: it needs another build")
    ]
    lists: Annotated[list[str], says("files written with -o that how refers to")]
    ranges: Annotated[
        list[AdviceRange], says("what the application asks for; empty for other kinds")
    ]
    parts: Annotated[list[int], says("of a combination: ranks of its parts that have a row")]


class AdviceDocument(Document, frozen=True, kw_only=True):
    """All that would make one start faster, ranked by predicted seconds."""

    command: Annotated[list[str], says("the recorded command")]
    recorded: Annotated[str | None, says("when the first capture was made, ISO 8601")]
    kernel: Annotated[str | None, says("uname -r of the recorded kernel")]
    model: Annotated[str, says("linux-X.Y: the readahead that is replayed")]
    disk: Annotated[str | None, says("cost of the disk's requests, in words")]
    read_ahead_kb: Annotated[int, says("the window now, in KiB")]
    seconds: Annotated[float, says("predicted seconds of the start as it is now")]
    read_bytes: Annotated[int, says("bytes that the start reads now, with metadata")]
    rows: Annotated[list[AdviceRow], says("the most seconds saved first")]
    tried: Annotated[int, says("combinations that were replayed")]
    notes: list[str]
    doubts: list[str]
