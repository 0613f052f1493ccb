"""Measurements that confirm a proposed window, stored in the capture that the proposal is from."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

Kib = Annotated[int, msgspec.Meta(ge=0, le=(1 << 31) - 1)]
Runs = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=1e9)]  # a NaN, which JSON allows, is refused
Share = Annotated[float, msgspec.Meta(ge=-1e12, le=1.0)]  # of the time at the present window
Text = Annotated[str, msgspec.Meta(max_length=4096)]
Outcome = Literal["confirmed", "contradicted", "too small", "undecided"]


class Confirmation(msgspec.Struct, frozen=True, kw_only=True):
    """Cold runs at the present and at the proposed window, in pairs, and their result.

    ``pairs`` holds the seconds at the present and at the proposed window of every counted pair, in
    the order they were made. ``gain`` is the share of the time that the proposed window saves,
    ``low`` and ``high`` its interval; they are None before enough pairs were made.
    ``disturbed`` counts the pairs that were made again because something else used the machine.
    """

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
    change: Text = ""  # what else the proposed runs had than their window; empty: nothing
    disturbed: Runs = 0
    runs: Runs = 0  # all that were made, the discarded first ones included
    wall_seconds: Annotated[float, msgspec.Meta(ge=0, le=1e12)] = 0.0
    notes: list[Text] = []

    @property
    def date(self) -> str:
        """Return the day of the last run."""
        return self.created[:10]


def same_question(one: Confirmation, other: Confirmation) -> bool:
    """Return whether two results compare the same windows and change on the same board."""
    return _question(one) == _question(other)


def _question(of: Confirmation) -> tuple[object, ...]:
    board = (of.kernel, of.machine, of.model, sorted(of.disks))
    return (*board, of.present_kb, of.proposed_kb, of.change)
