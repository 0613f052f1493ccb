"""The answer for a suite as JSON: one window for each disk, and its effect on each start."""

from __future__ import annotations

from typing import Annotated

import msgspec

from foreread.analyzer.advise.document import AdviceRow
from foreread.analyzer.predict.prediction import Verdict
from foreread.boards.base.brief import brief
from foreread.boards.base.document import Document, says
from foreread.tracer.formats.scenario import IDLE

Share = Annotated[float, says("a part of the seconds now")]


class SuiteStartAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The effect of the answer on one start."""

    __repr__ = brief

    name: str
    weight: float
    captures: Annotated[int, says("captures that its seconds come from")]
    command: list[str]
    read_ahead_kb_now: Annotated[int, says("its window now, in KiB")]
    now_is: Annotated[str, says("where that window comes from")]
    seconds_now: float
    read_ahead_kb: Annotated[int, says("the window of the answer, in KiB")]
    seconds: Annotated[float, says("predicted seconds at that window")]
    seconds_low: Annotated[float, says("lower bound of the seconds' band")]
    seconds_high: Annotated[float, says("upper bound of the seconds' band")]
    own_read_ahead_kb: Annotated[int, says("its own predicted-best window, in KiB")]
    own_seconds: Annotated[float, says("predicted seconds at its own best window")]
    regret: Annotated[Share, says("seconds lost against its own best window, of those now")]
    doubts: list[str]


class SuiteUnpredicted(msgspec.Struct, frozen=True, kw_only=True):
    """A start without predicted seconds."""

    name: str
    why: str
    remedy: Annotated[str | None, says("command to type; null: no window matters for this start")]


class SuitePublished(msgspec.Struct, frozen=True, kw_only=True):
    """F² + G² of the fixed window, with F and G summed over the starts, without weights."""

    read_ahead_kb: Annotated[int, says("window with the smallest C_opt, in KiB")]
    f: Annotated[int, says("requests of all starts there")]
    g: Annotated[int, says("G of all starts there, by equation 3 of the 2010 paper")]
    c_opt: Annotated[int, says("F² + G²")]
    tap: Annotated[int, says("pages accessed by all starts")]
    seconds: Annotated[float | None, says("predicted weighted seconds at this window")]


class SuiteDisk(msgspec.Struct, frozen=True, kw_only=True):
    """The answer for one disk of a board. Seconds are weighted sums over its starts."""

    __repr__ = brief

    name: Annotated[str, says("name of the disk")]
    verdict: Verdict
    read_ahead_kb_now: Annotated[int | None, says("null where starts were found with different")]
    seconds_now: float | None
    seconds: Annotated[float | None, says("at the window of the answer")]
    seconds_low: float | None
    seconds_high: float | None
    saved: Annotated[float | None, says("seconds that the answer saves")]
    saved_band: Annotated[float | None, says("the saving is known to within this, either way")]
    confidence: Annotated[
        float | None,
        says(
            "share of random draws (disk, processor, captures) in which the answer is within 1 % "
            "of the fastest window"
        ),
    ]
    windows_kb: Annotated[list[int], says("windows that were replayed, in KiB")]
    seconds_by_window: Annotated[list[float], says("weighted seconds at each of windows_kb")]
    best_read_ahead_kb: Annotated[int | None, says("window with the fewest weighted seconds")]
    seconds_each_its_own: Annotated[
        float | None, says("with a window of its own for each start, set before it starts")
    ]
    worst_start: Annotated[str | None, says("the start with the largest regret")]
    least_regret_kb: Annotated[
        int | None, says("window under which the largest regret of a start is smallest")
    ]
    published: SuitePublished | None
    starts: list[SuiteStartAnswer]
    unpredicted: list[SuiteUnpredicted]


class SuiteOneWindow(msgspec.Struct, frozen=True, kw_only=True):
    """One window for all disks of a board, against one for each disk."""

    read_ahead_kb: Annotated[int, says("the best window for all disks together, in KiB")]
    seconds: Annotated[float, says("weighted seconds with it")]
    seconds_by_disk: Annotated[float, says("weighted seconds with the best window of each disk")]


class SuiteBoardAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer for one board."""

    __repr__ = brief

    name: str
    kernel: str | None
    machine: str | None
    captures: int
    disks: list[SuiteDisk]
    one_window: Annotated[SuiteOneWindow | None, says("null for boards with one disk")]
    idle: Annotated[list[SuiteUnpredicted], says("starts that read no page from a disk")]


class SuiteDocument(Document, frozen=True, kw_only=True):
    """The answer for a suite: ``predict SUITE --json``."""

    suite: Annotated[str, says("name of the suite")]
    path: Annotated[str, says("file of the suite")]
    boards: list[SuiteBoardAnswer]
    scenario: Annotated[str, says("load of the machine for which the answer holds")] = IDLE


class SuiteAdviceRow(msgspec.Struct, frozen=True, kw_only=True):
    """A change of one start, under the window of its disk."""

    start: str
    rank: Annotated[int, says("of the row in the start's own table")]
    saved: Annotated[float, says("weighted seconds that it saves")]
    row: AdviceRow


class SuiteAdviceDisk(msgspec.Struct, frozen=True, kw_only=True):
    """One disk: its window, and the further gains of its starts."""

    board: str
    disk: str
    verdict: Verdict
    seconds_now: Annotated[float | None, says("weighted seconds with the windows now")]
    seconds: Annotated[float | None, says("weighted seconds with the window of the verdict")]
    rows: Annotated[list[SuiteAdviceRow], says("the most weighted seconds saved first")]
    unpredicted: list[SuiteUnpredicted]


class SuiteAdvice(Document, frozen=True, kw_only=True):
    """Advice for a suite: ``advise SUITE --json``."""

    suite: Annotated[str, says("name of the suite")]
    table: Annotated[str, says("file of each start's own table, in DIR/BOARD/START")]
    disks: list[SuiteAdviceDisk]
