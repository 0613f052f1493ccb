"""Measurements that confirm a proposed window, stored in the capture that the proposal is from."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from foreread.boards.base.brief import brief
from foreread.tracer.formats.memory import within
from foreread.tracer.formats.scenario import IDLE, beside

Kib = Annotated[int, msgspec.Meta(ge=0, le=(1 << 31) - 1)]
Runs = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=1e9)]  # a NaN, which JSON allows, is refused
Share = Annotated[float, msgspec.Meta(ge=-1e12, le=1.0)]  # of the time at the present window
MOST_BOARDS = 64
Place = Annotated[int, msgspec.Meta(ge=0, lt=MOST_BOARDS)]
Text = Annotated[str, msgspec.Meta(max_length=4096)]
Outcome = Literal["confirmed", "contradicted", "too small", "undecided"]


class BoardRuns(msgspec.Struct, frozen=True, kw_only=True):
    """One of several boards that made the runs; ``set_aside``: why it makes no more of them."""

    target: Text
    runs: Runs = 0
    disturbed: Runs = 0
    set_aside: Text = ""


class Confirmation(msgspec.Struct, frozen=True, kw_only=True):
    """Cold runs at the present and at the proposed window, in pairs, and their result.

    ``pairs`` holds the seconds at the present and at the proposed window of every counted pair, in
    the order they were made. ``gain`` is the share of the time that the proposed window saves,
    ``low`` and ``high`` its interval; they are None before enough pairs were made.
    ``disturbed`` counts the pairs that were made again because something else used the machine.
    Where several boards made the runs, ``boards`` has them, ``made_on`` the place of each pair's
    board in it, and the order of the pairs is that in which they were handed out.
    """

    __repr__ = brief

    created: Text  # ISO 8601, UTC: when the last run ended
    foreread: Text = ""
    target: Text = ""  # as it was named; empty: this machine
    kernel: Text
    machine: Text
    model: Text = ""  # of the CPU or of the board
    disks: list[Text]
    present_kb: Kib
    proposed_kb: Kib
    outcome: Outcome
    gain: Share | None = None
    low: Share | None = None
    high: Share | None = None
    pairs: Annotated[list[tuple[Seconds, Seconds]], msgspec.Meta(max_length=100_000)] = []
    scenario: Text = IDLE  # load of the machine during the runs
    memory_kib: Kib | None = None  # limit of the control group of the runs; None: none
    change: Text = ""  # what else the proposed runs had than their window; empty: nothing
    disturbed: Runs = 0
    runs: Runs = 0  # all that were made, the discarded first ones included
    wall_seconds: Annotated[float, msgspec.Meta(ge=0, le=1e12)] = 0.0
    notes: list[Text] = []
    boards: Annotated[list[BoardRuns], msgspec.Meta(max_length=MOST_BOARDS)] = []
    made_on: Annotated[list[Place], msgspec.Meta(max_length=100_000)] = []

    def __post_init__(self) -> None:
        """Raise ValueError where the pairs of several boards are not those of its boards."""
        if self.boards and len(self.made_on) != len(self.pairs):
            raise ValueError("made_on has not one board for each pair")
        if any(place >= max(len(self.boards), 1) for place in self.made_on):
            raise ValueError("made_on has a board that boards does not have")

    @property
    def conditions(self) -> str:
        """The load and the limited memory of the runs, as the end of a sentence; empty for none."""
        return beside(self.scenario) + within(self.memory_kib)

    @property
    def date(self) -> str:
        """Return the day of the last run."""
        return self.created[:10]


def same_question(first: Confirmation, other: Confirmation) -> bool:
    """Return whether two results compare the same on the same board, with like load and memory.

    Several like boards are one, whichever of them made the runs.
    """
    return _question(first) == _question(other)


def _question(of: Confirmation) -> tuple[object, ...]:
    board = (of.kernel, of.machine, of.model, sorted(of.disks))
    settings = (of.present_kb, of.proposed_kb, of.change, of.scenario, of.memory_kib)
    return (*board, *settings, bool(of.boards))
