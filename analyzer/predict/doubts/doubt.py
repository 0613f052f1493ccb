"""A doubt: a reason why a prediction is less certain, or why its seconds are unusable."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import hypot


@dataclass(frozen=True)
class Doubt:
    """A reason to trust a prediction less.

    ``text`` is a clause for the user: the problem, with the figures that show it. ``spread`` is a
    relative standard deviation: it widens the band of every window, added in quadrature to its
    other parts. ``unusable`` withdraws the seconds, and the verdict is "measure". ``of_disk``: a
    wrong cost of the disk would explain it, so that a measurement of the disk may help.
    """

    text: str
    spread: float = 0.0
    unusable: bool = False
    of_disk: bool = False


def distinct(doubts: Iterable[Doubt]) -> list[Doubt]:
    """Return the doubts without repetition, in their order; of equal texts the heaviest."""
    heaviest: dict[str, Doubt] = {}
    for doubt in doubts:
        other = heaviest.get(doubt.text)
        if other is None or (doubt.unusable, doubt.spread) > (other.unusable, other.spread):
            heaviest[doubt.text] = doubt
    return list(heaviest.values())


def total_spread(doubts: Iterable[Doubt]) -> float:
    """Return the relative standard deviation of all doubts: they are independent."""
    return hypot(*(doubt.spread for doubt in doubts))


def unusable(doubts: Iterable[Doubt]) -> str | None:
    """Return why the seconds must not be used; None if they may."""
    return "; ".join(doubt.text for doubt in doubts if doubt.unusable) or None
