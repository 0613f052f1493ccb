"""A device as it was measured: latency and throughput by size of request, in order or at random."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import exp, log

import numpy as np

_SECTORS_PER_KIB = 2


@dataclass(frozen=True)
class Point:
    """Times of requests of ``kib``, each where the last one ended (``sequential``) or elsewhere.

    ``latency_ns`` from a single request to its completion; ``occupancy_ns`` between completions
    with many in flight.
    """

    kib: float
    sequential: bool
    latency_ns: float
    occupancy_ns: float


@dataclass(frozen=True)
class Measured:
    """A request completes at max(now + latency, when the device is free + occupancy).

    Between the sizes of ``points`` logarithms are interpolated, beyond the largest the time goes
    with the size. If one of the two patterns was not measured, the other one is used.
    ``band`` is the standard error of all times together, in parts of them.
    """

    points: tuple[Point, ...]
    band: float = 0.0

    def __post_init__(self) -> None:
        if not self.points or any(
            not (one.kib > 0 and one.latency_ns > 0 and one.occupancy_ns > 0) for one in self.points
        ):
            raise ValueError("a measured device needs sizes and times above 0")

    def queue(self) -> MeasuredQueue:
        """Return an idle device of this kind."""
        return MeasuredQueue(self)

    def describe(self) -> str:
        """Return the range of the measurements in words."""
        chosen = self._of(sequential=False)
        ends = (chosen[0], chosen[-1])
        each = ", ".join(f"{one.latency_ns / 1000:,.0f} µs for {one.kib:g} KiB" for one in ends)
        return f"as measured at {len(self.points)} points: at random {each}"

    def perturbed(self, rng: np.random.Generator) -> Measured:
        """Return a device that is slower or faster in all by as much as the band allows."""
        if not self.band:
            return self
        factor = max(float(rng.normal(1.0, self.band)), 0.01)
        return replace(self, points=tuple(_scaled(one, factor) for one in self.points))

    def times(self, sequential: bool) -> tuple[Table, Table]:
        """Return latency and occupancy (ns) by size."""
        chosen = self._of(sequential)
        sizes = [one.kib for one in chosen]
        return (
            Table(sizes, [one.latency_ns for one in chosen]),
            Table(sizes, [one.occupancy_ns for one in chosen]),
        )

    def _of(self, sequential: bool) -> list[Point]:
        of_kind = [one for one in self.points if one.sequential == sequential]
        return sorted(of_kind or self.points, key=lambda one: one.kib)


class Table:
    """Times by size (KiB), rising."""

    def __init__(self, sizes: Sequence[float], times: Sequence[float]) -> None:
        self.sizes, self.values = sizes, times

    def at(self, kib: float) -> float:
        """Return the time of a size."""
        row = bisect_left(self.sizes, kib)
        if row == 0:
            return self.values[0]
        if row == len(self.sizes):
            return self.values[-1] * kib / self.sizes[-1]
        (low, high), (short, long) = self.sizes[row - 1 : row + 1], self.values[row - 1 : row + 1]
        share = log(kib / low) / log(high / low)
        return exp(log(short) * (1 - share) + log(long) * share)


@dataclass
class MeasuredQueue:
    """``free_ns`` is when another request could begin, ``end`` the sector after the last one."""

    model: Measured
    free_ns: float = 0.0
    end: int = -1
    _known: dict[tuple[int, bool], tuple[float, float]] = field(default_factory=dict)

    def submit(
        self, now_ns: float, sector: int, sectors: int, bios: int = 1, meta: bool = False
    ) -> float:
        """Take in a read; return when it completes."""
        latency, occupancy = self._times(sectors, sector == self.end)
        self.end = sector + sectors
        self.free_ns = max(now_ns, self.free_ns) + occupancy
        return max(now_ns + latency, self.free_ns)

    def _times(self, sectors: int, sequential: bool) -> tuple[float, float]:
        found = self._known.get((sectors, sequential))
        if found is None:
            latency, occupancy = self.model.times(sequential)
            kib = sectors / _SECTORS_PER_KIB
            found = self._known[sectors, sequential] = latency.at(kib), occupancy.at(kib)
        return found


def _scaled(point: Point, factor: float) -> Point:
    return replace(
        point,
        latency_ns=point.latency_ns * factor,
        occupancy_ns=point.occupancy_ns * factor,
    )
