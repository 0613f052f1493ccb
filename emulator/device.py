"""How long a storage device takes to serve a request."""

from __future__ import annotations

from dataclasses import dataclass

_SECTORS_PER_KIB = 2


@dataclass(frozen=True)
class FixedCost:
    """A fixed time for each request and time for its length; served one at a time, in order.

    ``spread_ns`` is the median absolute residual if the costs were learnt, else 0.
    """

    latency_ns: float
    ns_per_kib: float
    spread_ns: float = 0.0

    def service_ns(self, sectors: int) -> float:
        """Return the time that a request of so many 512-byte sectors takes."""
        return self.latency_ns + self.ns_per_kib * sectors / _SECTORS_PER_KIB


@dataclass
class Queue:
    """A device that works: ``free_ns`` is when it has served all that was submitted."""

    cost: FixedCost
    free_ns: float = 0.0

    def submit(self, now_ns: float, sectors: int) -> float:
        """Take in a request; return when it completes."""
        self.free_ns = max(now_ns, self.free_ns) + self.cost.service_ns(sectors)
        return self.free_ns
