"""A buyer's table as JSON: ``advise --boards --json``."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from foreread.boards.base.brief import brief
from foreread.boards.base.document import Document, says
from foreread.boards.cost import Obtained
from foreread.tracer.formats.scenario import IDLE

Within = Literal["now", "window", "no"]


class PartRow(msgspec.Struct, frozen=True, kw_only=True):
    """A storage part: a device model."""

    name: Annotated[str, says("as --device-model takes it")]
    obtained: Annotated[Obtained, says("how its figures were obtained")]
    source: Annotated[str, says("where its figures are from; empty if unknown")]
    cost: Annotated[str, says("what a request costs, in words")]


class PartSeconds(msgspec.Struct, frozen=True, kw_only=True):
    """A start on a part: with the present window, and with the one that predict proposes there.

    Without seconds all figures are null, and ``why`` is the reason.
    """

    __repr__ = brief

    part: Annotated[str | None, says("name of the part; null: the disk of the capture")]
    cost: Annotated[str | None, says("what a request costs, in words")] = None
    seconds_now: Annotated[float | None, says("with the window now")] = None
    seconds_now_low: Annotated[float | None, says("lower bound of its band")] = None
    seconds_now_high: Annotated[float | None, says("upper bound of its band")] = None
    read_ahead_kb: Annotated[int | None, says("window of predict's verdict for the part")] = None
    seconds: Annotated[float | None, says("with that window")] = None
    seconds_low: Annotated[float | None, says("lower bound of its band")] = None
    seconds_high: Annotated[float | None, says("upper bound of its band")] = None
    saved: Annotated[float | None, says("seconds that the window saves on the part")] = None
    band: Annotated[float | None, says("the saving is known to within this, either way")] = None
    next_part: Annotated[
        str | None, says("the part that is the next faster one, all with the window now")
    ] = None
    of_next: Annotated[
        float | None, says("saved seconds, as a share of those that the next part saves")
    ] = None
    as_fast_as: Annotated[
        str | None,
        says("fastest part that, with the window now, this one catches up with by its window"),
    ] = None
    within: Annotated[
        Within | None,
        says("whether the upper bound of the band is within the limit: now, or with the window"),
    ] = None
    why: Annotated[str | None, says("why there are no seconds")] = None
    remedy: Annotated[str | None, says("command to type, if there are no seconds")] = None
    doubts: list[str] = msgspec.field(default_factory=list)


class StartOnParts(msgspec.Struct, frozen=True, kw_only=True):
    """One start on all parts."""

    __repr__ = brief

    name: Annotated[str, says("path of its capture, or BOARD/START of a suite")]
    command: list[str]
    captures: Annotated[int, says("captures that its seconds come from")]
    kernel: Annotated[str | None, says("uname -r of the recorded kernel; null if unknown")]
    model: Annotated[str, says("the kernel whose readahead is emulated, linux-X.Y")]
    read_ahead_kb_now: Annotated[int, says("its window now, in KiB")]
    now_is: Annotated[str, says("where that window comes from")]
    rows: Annotated[list[PartSeconds], says("the fastest part first, those without seconds last")]


class PartsDocument(Document, frozen=True, kw_only=True):
    """Starts on storage parts: ``advise --boards --json``."""

    parts: Annotated[list[PartRow], says("in the order of the options")]
    starts: list[StartOnParts]
    within: Annotated[float | None, says("--within, in seconds")] = None
    slowest_within: Annotated[
        str | None, says("the slowest part on which every start stays within the limit")
    ] = None
    scenario: Annotated[str, says("load of the machine for which the seconds hold")] = IDLE
