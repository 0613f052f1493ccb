"""A measured device: latency and throughput by size of request, in order or at random."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import exp, log

import numpy as np

_SECTORS_PER_KIB = 2


@dataclass(frozen=True)
class Point:
    """Times of requests of ``kib``, each after the previous one (``sequential``) or elsewhere.

    ``latency_ns`` from a single request to its completion; ``occupancy_ns`` between completions
    with many requests in flight.
    """

    kib: float
    sequential: bool
    latency_ns: float
    occupancy_ns: float


@dataclass(frozen=True)
class Measured:
    """A request completes at max(now + latency, when the device is free + occupancy).

    Between the sizes of ``points`` logarithms are interpolated, beyond the largest the time is
    proportional to the size. If one of the two patterns was not measured, the other one is used.
    ``band`` is the standard error of all times together, as a share.
    """

    points: tuple[Point, ...]
    band: float = 0.0

    def __post_init__(self) -> None:
        if not self.points or any(
            not (point.kib > 0 and point.latency_ns > 0 and point.occupancy_ns > 0)
            for point in self.points
        ):
            raise ValueError("a measured device needs sizes and times above 0")

    def queue(self) -> MeasuredQueue:
        """Return an idle device of this kind."""
        return MeasuredQueue(self)

    def describe(self) -> str:
        """Return the range of the measurements in words."""
        chosen = self._of(sequential=False)
        ends = (chosen[0], chosen[-1])
        each = ", ".join(
            f"{point.latency_ns / 1000:,.0f} µs for {point.kib:g} KiB" for point in ends
        )
        return f"as measured at {len(self.points)} points: at random {each}"

    def perturbed(self, rng: np.random.Generator) -> Measured:
        """Return a device with all times scaled by one factor from the band."""
        if not self.band:
            return self
        factor = max(float(rng.normal(1.0, self.band)), 0.01)
        return replace(self, points=tuple(_scaled(point, factor) for point in self.points))

    def times(self, sequential: bool) -> tuple[Table, Table]:
        """Return latency and occupancy (ns) by size."""
        chosen = self._of(sequential)
        sizes = [point.kib for point in chosen]
        return (
            Table(sizes, [point.latency_ns for point in chosen]),
            Table(sizes, [point.occupancy_ns for point in chosen]),
        )

    def _of(self, sequential: bool) -> list[Point]:
        of_kind = [point for point in self.points if point.sequential == sequential]
        return sorted(of_kind or self.points, key=lambda point: point.kib)


class Table:
    """Times by size (KiB), rising."""

    def __init__(self, sizes: Sequence[float], times: Sequence[float]) -> None:
        self.sizes, self.values = sizes, times

    def at(self, kib: float) -> float:
        """Return the time (ns) of a size in KiB."""
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
        self,
        now_ns: float,
        sector: int,
        sectors: int,
        bios: int = 1,
        meta: bool = False,
        unlimited: bool = False,
    ) -> float:
        """Submit a read; return its completion time."""
        latency, occupancy = self._times(sectors, sector == self.end)
        self.end = sector + sectors
        self.free_ns = max(now_ns, self.free_ns) + occupancy
        return max(now_ns + latency, self.free_ns)

    def _times(self, sectors: int, sequential: bool) -> tuple[float, float]:
        times = self._known.get((sectors, sequential))
        if times is None:
            latency, occupancy = self.model.times(sequential)
            kib = sectors / _SECTORS_PER_KIB
            times = self._known[sectors, sequential] = latency.at(kib), occupancy.at(kib)
        return times


def _scaled(point: Point, factor: float) -> Point:
    return replace(
        point,
        latency_ns=point.latency_ns * factor,
        occupancy_ns=point.occupancy_ns * factor,
    )
