"""The forecast: the result of ``foreread.forecast``, and the document of ``forecast --json``."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from foreread.boards.base.brief import brief
from foreread.boards.base.document import Document, says

SecondsOrNone = Annotated[float | None, says("seconds; null where they cannot be predicted")]
Direction = Literal["faster", "slower", "same"]


class ForecastDisk(msgspec.Struct, frozen=True, kw_only=True):
    """A disk that the start reads, under both kernels; windows and limits are in KiB."""

    __repr__ = brief

    name: str
    accessed: Annotated[int, says("distinct pages accessed on it")]
    found_read_ahead_kb: Annotated[
        int | None, says("window found before the recording; null if unknown")
    ]
    now_read_ahead_kb: Annotated[int, says("default under the capture's kernel, or as given")]
    now_why: Annotated[str, says("the rule that gives this window")]
    now_max_sectors_kb: Annotated[int | None, says("largest request; null if unknown")]
    then_read_ahead_kb: Annotated[int, says("default under the other kernel, or as given")]
    then_why: Annotated[str, says("the rule that gives this window")]
    then_max_sectors_kb: Annotated[int | None, says("largest request; null if unknown")]


class ForecastCase(msgspec.Struct, frozen=True, kw_only=True):
    """The start under one kernel with one window; requests and pages are of file data."""

    __repr__ = brief

    model: Annotated[str, says("linux-X.Y")]
    read_ahead_kb: Annotated[int, says("window in KiB of the disk that the start reads most")]
    requests: Annotated[int, says("read requests, of all disks")]
    pages: Annotated[int, says("distinct pages read, of all disks")]
    unused: Annotated[int, says("pages read and never accessed")]
    seconds: SecondsOrNone = None
    seconds_low: Annotated[SecondsOrNone, says("lower bound of the band")] = None
    seconds_high: Annotated[SecondsOrNone, says("upper bound of the band")] = None


class ForecastChange(msgspec.Struct, frozen=True, kw_only=True):
    """The seconds that the other kernel adds with its own default windows; below 0 it saves."""

    __repr__ = brief

    direction: Annotated[Direction, says("same: by no more than 1 % of the present time")]
    certain: Annotated[bool, says("false: the band of the difference contains 0")]
    seconds: Annotated[float, says("then − now")]
    seconds_low: Annotated[float, says("lower bound of the band of the difference")]
    seconds_high: Annotated[float, says("upper bound of the band of the difference")]
    share: Annotated[float, says("the difference as a part of the present time: 0.1 is 10 %")]


class ForecastCause(msgspec.Struct, frozen=True, kw_only=True):
    """One change between the kernels, and what it does alone, under the capture's kernel."""

    __repr__ = brief

    what: str
    since: Annotated[str, says("kernel version with the change; empty for a window or a limit")]
    source: Annotated[str, says("where it was read: kernel version, function")]
    undone: Annotated[bool, says("true: the other kernel is older and does not have it")]
    requests: Annotated[int, says("requests added by it alone")]
    pages: Annotated[int, says("pages added by it alone")]
    seconds: Annotated[float | None, says("seconds added by it alone; null if unknown")]


class ForecastAdvice(msgspec.Struct, frozen=True, kw_only=True):
    """What to set under the other kernel.

    ``set``: the window ``read_ahead_kb`` saves time against its default. ``leave``: no window saves
    more than 1 % or more than the band. ``measure``: there are no seconds; ``remedy`` is the
    command that obtains them. ``keep_read_ahead_kb`` is the window that keeps the present time
    where the other kernel's default would lose it, None if that is not needed or there is none.
    """

    __repr__ = brief

    action: Literal["set", "leave", "measure"]
    read_ahead_kb: int | None
    keep_read_ahead_kb: int | None
    why: str
    remedy: Annotated[str | None, says("command to type")] = None


class Forecast(Document, frozen=True, kw_only=True):
    """What another kernel does to a recorded start.

    ``now`` is the start under the capture's kernel with that kernel's default window, ``then`` the
    same under the other kernel with its default window, ``kept`` under the other kernel with the
    window of now, ``best`` with the fastest window there. ``change`` and ``best`` are None where
    seconds cannot be predicted. ``causes`` are at most three; the parts of changes that act on each
    other do not add up to the difference.
    """

    kernel: Annotated[str, says("uname -r of the recorded kernel")]
    page_size: Annotated[int, says("bytes of a page")]
    accessed: Annotated[int, says("distinct pages accessed")]
    disks: list[ForecastDisk]
    now: ForecastCase
    then: ForecastCase
    kept: ForecastCase
    best: ForecastCase | None
    change: ForecastChange | None
    causes: Annotated[list[ForecastCause], says("largest part first")]
    changes: Annotated[int, says("changes between the kernels that were tried")]
    effective: Annotated[int, says("changes among them that alone change what the start reads")]
    advice: ForecastAdvice
    doubts: list[str]
    notes: list[str]
