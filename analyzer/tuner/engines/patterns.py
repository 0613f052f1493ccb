"""Patterns of a workload: IOPerf's four parameters, and the nearest of the known patterns.

After *IOPerf: Self-Tuning Module of Disk I/O*, sections 4, 5 and 7 (the normal mode). The eight
classes of fingerprint.py are coarse: a workload of two thirds reads and one of reads alone are both
*read*. A pattern has the measured values; settings learnt for one pattern suit another within the
*clearance*.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Self

from foreread.analyzer.tuner.engines.fingerprint import MOSTLY, PAGE_BYTES, READ_FACTOR
from foreread.boards.base.units import KIB

# Minimum closeness of each parameter. The paper's words ask for closeness in the shares above all,
# and give them the largest factors: so these are similarities to reach, no distances allowed.
CLEARANCE = {"processes": 0.8, "read_share": 1.0, "random_share": 1.0, "request_kib": 0.7}
RANGES = ((0, 4), (5, 34), (35, 64), (65, 94), (95, 100))  # of both shares, in percent
MOST_PROCESSES = 8
LARGEST_KIB = 2047
_NAME = re.compile(r"pattern ([1-8]) ([0-9]{1,3}) ([0-9]{1,3}) ([0-9]{1,4})")


@dataclass(frozen=True)
class Pattern:
    """Table 1's characteristic parameters; shares in percent, ``random_share`` by process."""

    processes: int
    read_share: int
    random_share: int
    request_kib: int

    @property
    def name(self) -> str:
        """The name of the pattern in a TUNING file."""
        return "pattern " + " ".join(str(number) for number in asdict(self).values())

    @classmethod
    def named(cls, name: str) -> Self | None:
        """Return the pattern of a name; None for another name, or beyond Table 1."""
        match = _NAME.fullmatch(name)
        if match is None:
            return None
        pattern = cls(*map(int, match.groups()))
        in_range = max(pattern.read_share, pattern.random_share) <= 100
        return pattern if in_range and pattern.request_kib <= LARGEST_KIB else None

    @property
    def class_name(self) -> str:
        """The fingerprint of such a workload (fingerprint.py), by its parameters."""
        reads = self.read_share > READ_FACTOR * (100 - self.read_share)
        return "-".join(
            (
                "read" if reads else "write",
                "random" if self.random_share > 100 * MOSTLY else "sequential",
                "large" if self.request_kib * KIB > PAGE_BYTES else "small",
            )
        )


def closeness(pattern: Pattern, other: Pattern) -> dict[str, float]:
    """Return how alike two patterns are, by parameter, from 0 to 1.

    With fewer processes, one more matters more (section 4): their ratio counts. Shares in the same
    range are alike; ranges further apart are less so. Sizes are compared by their difference, on
    the scale of Table 1.
    """
    few, many = sorted((pattern.processes, other.processes))
    return {
        "processes": few / many,
        "read_share": _alike(pattern.read_share, other.read_share),
        "random_share": _alike(pattern.random_share, other.random_share),
        "request_kib": 1 - abs(pattern.request_kib - other.request_kib) / LARGEST_KIB,
    }


def similarity(pattern: Pattern, other: Pattern) -> float:
    """Return the mean of the closenesses, weighted with the clearance factors; from 0 to 1."""
    close = closeness(pattern, other)
    weighted = sum(close[name] * weight for name, weight in CLEARANCE.items())
    return weighted / sum(CLEARANCE.values())


def within_clearance(pattern: Pattern, other: Pattern) -> bool:
    """Return whether each parameter is as close as its clearance factor requires."""
    return all(value >= CLEARANCE[name] for name, value in closeness(pattern, other).items())


def nearest(patterns: Iterable[Pattern], pattern: Pattern) -> Pattern | None:
    """Return the known pattern most similar to ``pattern``, within the clearance.

    Of equals the first; None if no pattern is within the clearance.
    """
    close = [candidate for candidate in patterns if within_clearance(candidate, pattern)]
    return max(close, key=lambda candidate: similarity(candidate, pattern), default=None)


def pattern_of(sums: Mapping[str, float]) -> Pattern | None:
    """Return the pattern of a period's sums (tracer/remote/bios.sh); None without bios.

    ``own_followers``: bios with a seen predecessor of the same process; ``own_jumps``: followers
    that do not begin at the predecessor's end.
    """
    bios = sums["reads"] + sums["writes"]
    if not bios:
        return None
    followers = sums["own_followers"]
    return Pattern(
        min(max(int(sums["processes"]), 1), MOST_PROCESSES),
        _rounded(100 * sums["reads"] / bios),
        _rounded(100 * sums["own_jumps"] / followers) if followers else 0,
        min(_rounded(sums["sectors"] / 2 / bios), LARGEST_KIB),
    )


def _alike(share: int, other: int) -> float:
    return 1 - abs(_range(share) - _range(other)) / (len(RANGES) - 1)


def _range(share: int) -> int:
    return next(place for place, (_, high) in enumerate(RANGES) if share <= high)


def _rounded(number: float) -> int:
    return math.floor(number + 0.5)
