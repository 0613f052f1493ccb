"""Findings: reasons why the predicted seconds of a start are less certain, or unusable."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import hypot


@dataclass(frozen=True)
class Finding:
    """One reason to trust predicted seconds less.

    ``spread`` is a relative standard deviation: it widens the band of every window, added in
    quadrature to its other parts. ``unusable`` withdraws the seconds, and the verdict is "measure".
    ``of_disk``: a wrong cost of the disk would explain it, so that measuring the disk may help.
    ``text`` is a clause for the user: the problem, with the figures that show it.
    """

    text: str
    spread: float = 0.0
    unusable: bool = False
    of_disk: bool = False


def distinct(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings without repetition, in their order; of equal texts the widest."""
    widest: dict[str, Finding] = {}
    for found in findings:
        known = widest.get(found.text)
        if known is None or (found.unusable, found.spread) > (known.unusable, known.spread):
            widest[found.text] = found
    return list(widest.values())


def total_spread(findings: Iterable[Finding]) -> float:
    """Return the relative standard deviation that all findings together add."""
    return hypot(*(found.spread for found in findings))
