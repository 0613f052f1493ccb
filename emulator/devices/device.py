"""Models of the time that a storage device takes to serve requests, each with a working queue.

Times are nanoseconds as floats, lengths 512-byte sectors. docs/explanation/disk.md has formulas and
sources.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

_SECTORS_PER_KIB = 2


class DeviceQueue(Protocol):
    """A device with requests in progress, idle at first."""

    def submit(
        self,
        now_ns: float,
        sector: int,
        sectors: int,
        bios: int = 1,
        meta: bool = False,
        unlimited: bool = False,
    ) -> float:
        """Submit a read; return its completion time.

        Calls come in the order of their times. ``bios`` is the number of bios in the request;
        ``meta``: it reads metadata (REQ_META), which a limiter prefers. ``unlimited``: no limiter
        holds it.
        """


class DeviceModel(Protocol):
    """The parameters of a device."""

    def queue(self) -> DeviceQueue:
        """Return an idle device of this kind."""

    def describe(self) -> str:
        """Return a description of one line."""

    def perturbed(self, rng: np.random.Generator) -> DeviceModel:
        """Return a random device within the band of this one; itself without a band."""


@dataclass(frozen=True)
class FixedCost:
    """A fixed time for each request and time for its length; served one at a time, in order.

    A request that waited for the previous one begins ``handover_ns`` after its end. ``spread_ns``
    is the median absolute residual if the costs were learnt, else 0. ``band`` is the standard error
    of the costs, as a share.
    """

    latency_ns: float
    ns_per_kib: float
    spread_ns: float = 0.0
    band: float = 0.0
    handover_ns: float = 0.0

    def service_ns(self, sectors: int) -> float:
        """Return the time (ns) of a request of ``sectors``."""
        return self.latency_ns + self.ns_per_kib * sectors / _SECTORS_PER_KIB

    def queue(self) -> FixedQueue:
        """Return an idle device of this cost."""
        return FixedQueue(self)

    def describe(self) -> str:
        """Return the cost in words."""
        return (
            f"one request at a time, {self.latency_ns / 1000:,.0f} µs a request and "
            f"{self.ns_per_kib / 1000:.1f} µs a KiB"
        )

    def perturbed(self, rng: np.random.Generator) -> FixedCost:
        """Return a device with both costs drawn from the band, independently."""
        if not self.band:
            return self
        latency, per_kib = np.maximum(rng.normal(1.0, self.band, 2), 0.0).tolist()
        return replace(
            self, latency_ns=self.latency_ns * latency, ns_per_kib=self.ns_per_kib * per_kib
        )


@dataclass
class FixedQueue:
    """A device of fixed cost: ``free_ns`` is when it has served all submitted requests."""

    cost: FixedCost
    free_ns: float = 0.0

    def submit(
        self,
        now_ns: float,
        sector: int,
        sectors: int,
        bios: int = 1,
        meta: bool = False,
        unlimited: bool = False,
    ) -> float:
        """Serve a request after all earlier ones."""
        waited = now_ns < self.free_ns
        begin = self.free_ns + self.cost.handover_ns if waited else now_ns
        self.free_ns = begin + self.cost.service_ns(sectors)
        return self.free_ns
