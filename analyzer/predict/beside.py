"""The members of a prediction beside loads: one row a load, idle first, and all weighted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import msgspec

from foreread.boards.base.brief import brief
from foreread.boards.base.document import says
from foreread.tracer.formats.scenario import IDLE

Column = Annotated[list[float], says("by window; empty where nothing is predicted")]
Part = Annotated[float | None, says("null where nothing is predicted")]


def load_words(loads: Sequence[str], weights: Mapping[str, float]) -> list[str]:
    """Return the options of a command that name loads and their weights."""
    weighed = [f"{load}={weight:g}" for load, weight in weights.items()]
    return [
        *(word for load in loads for word in ("--load", load)),
        *(word for text in weighed for word in ("--weigh", text)),
    ]


class LoadRow(msgspec.Struct, frozen=True, kw_only=True):
    """The start beside one load or with so much memory, and the verdict for this case alone.

    Changes and regrets are parts of the seconds at the reference window: a change is what a window
    costs more (or, negative, less) than the reference window beside this load, a regret what it
    costs more than the fastest window.
    """

    __repr__ = brief

    load: Annotated[str, says("idle, a scenario's name, a capture, or memory:SIZE")]
    weight: Annotated[float, says("of the load in the verdict")]
    seconds: Annotated[Column, says("predicted start-up time in seconds")] = []
    seconds_low: Annotated[Column, says("lower bound of the seconds' band")] = []
    seconds_high: Annotated[Column, says("upper bound of the seconds' band")] = []
    best_kb: Annotated[int | None, says("window in KiB with the fewest seconds")] = None
    action: Annotated[
        Literal["set", "keep", "none", "measure"], says("verdict for this load alone")
    ] = "measure"
    read_ahead_kb: Annotated[int | None, says("window in KiB of that verdict")] = None
    why: Annotated[str, says("reason of that verdict, or why nothing is predicted")] = ""
    idle_change: Annotated[Part, says("change of the seconds by the idle verdict's window")] = None
    idle_regret: Annotated[Part, says("regret of the idle verdict's window")] = None
    change: Annotated[Part, says("change of the seconds by the window of the verdict")] = None
    regret: Annotated[Part, says("regret of the window of the verdict")] = None
    memory_kib: Annotated[
        int | None, says("memory that the start and its files' pages have; null: all they need")
    ] = None
    pages: Annotated[
        list[int], says("pages that the start reads, by window; empty beside a load")
    ] = []

    @property
    def predicted(self) -> bool:
        """Whether the start is predicted beside this load."""
        return bool(self.seconds)

    @property
    def counts(self) -> bool:
        """Whether the verdict is about this load, too."""
        return self.predicted and self.weight > 0


class MemoryNeed(msgspec.Struct, frozen=True, kw_only=True):
    """The memory that a start needs so that no page is read twice."""

    own_kib: Annotated[
        int | None, says("most memory that the program itself takes; null if unknown")
    ]
    files_kib: Annotated[list[int], says("pages of files that the start reads, by window")]
    least_kib: Annotated[
        int | None,
        says(
            "least memory, the program's included, with which no page is read twice under the "
            "verdict's window"
        ),
    ] = None
    record: Annotated[
        str | None,
        says(
            "command that records which pages the start uses again after they were reclaimed; null "
            "where the capture shows that, or nothing is read again"
        ),
    ] = None


class Loads(msgspec.Struct, frozen=True, kw_only=True):
    """The start beside each of several loads; ``weighted`` is the geometric mean of their seconds.

    ``refused_kb`` are windows that are never set: beside one of the loads they are slower than the
    reference window by more than 3 %.
    """

    __repr__ = brief

    read_ahead_kb: Annotated[list[int], says("windows in KiB; the lists of the rows have one each")]
    reference_kb: Annotated[int, says("window in KiB that changes are relative to")]
    idle_kb: Annotated[int | None, says("window in KiB of the verdict for an idle machine")]
    rows: Annotated[list[LoadRow], says("one a load, idle first")]
    weighted: Annotated[list[float], says("weighted geometric mean of the seconds by window")] = []
    refused_kb: Annotated[
        list[int], says("windows in KiB that are too slow beside one of the loads")
    ] = []
    need: Annotated[
        MemoryNeed | None, says("with --memory: the memory that the start needs; else null")
    ] = None

    @property
    def names(self) -> list[str]:
        """The loads that the verdict is about."""
        return [row.load for row in self.rows if row.counts]

    @property
    def beside(self) -> list[str]:
        """The same without idle."""
        return [name for name in self.names if name != IDLE]

    @property
    def words(self) -> list[str]:
        """The options of a command that name the loads and their weights."""
        return load_words(
            [row.load for row in self.rows if row.load != IDLE],
            {row.load: row.weight for row in self.rows if row.weight != 1},
        )

    def seconds_of(self, load: str) -> dict[int, float]:
        """Return the seconds beside a load by window in KiB; empty where nothing is predicted."""
        row = next(row for row in self.rows if row.load == load)
        return dict(zip(self.read_ahead_kb, row.seconds, strict=row.predicted))
