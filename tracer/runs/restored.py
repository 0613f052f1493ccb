"""Settings that were put back after a run, and the notes on those that were not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

GONE = "the device is gone"
LEFT = "left at {}, which another program has set"


@dataclass(frozen=True)
class Restored:
    """One knob that was put back, or why it was not (``problem``, else empty)."""

    knob: str
    value: str
    problem: str = ""


def unrestored(knobs: Iterable[Restored]) -> list[str]:
    """Return a note for each knob that was not put back."""
    return [f"{knob.knob} was not restored: {knob.problem}" for knob in knobs if knob.problem]


def is_done(knob: Restored) -> bool:
    """Return whether nothing is left to do for the next foreread."""
    return knob.problem in ("", GONE) or knob.problem.startswith(LEFT.partition("{")[0])
