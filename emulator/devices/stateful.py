"""A disk with request costs that depend on earlier requests: seeks, units, a cache, parallelism.

The same as boards/emulated/slowdisk/cost.h, the disk of the emulated boards, with times as floats.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from math import isqrt

import numpy as np

_SECTORS_PER_KIB = 2
_WORD = 0xFFFFFFFF
FILE_BITS = 40  # bits of a sector; those above them number files whose places are unknown
MOST_PARALLEL, MOST_UNITS = 32, 256


@dataclass(frozen=True)
class Stateful:
    """A request gets one of ``parallel`` places, waits for its latency, and is then transferred.

    Latencies pass in parallel, transfers one after another. Where ``unit_kib`` is not 0, the disk
    reads whole units and keeps the last ``kept_units``: a request that they contain costs
    ``hit_ns`` and ``hit_ns_per_kib``. A request that does not begin at the end of the previous one
    seeks for ``seek_ns`` and ``seek_ns_per_root`` times the square root of the distance in KiB,
    which counts as 0 between files whose places are unknown.
    After ``fast_kib`` without an idle ``rest_ns``, a KiB costs ``slow_ns_per_kib``. ``jitter_ns``
    is the mean of a random latency of at most three times that; without ``seed`` each request has
    the mean. ``handover_ns`` and ``band`` are as in FixedCost.
    """

    latency_ns: float
    ns_per_kib: float
    parallel: int = 1
    unit_kib: int = 0
    kept_units: int = 1
    hit_ns: float = 0.0
    hit_ns_per_kib: float = 0.0
    seek_ns: float = 0.0
    seek_ns_per_root: float = 0.0
    fast_kib: int = 0
    slow_ns_per_kib: float = 0.0
    rest_ns: float = 0.0
    jitter_ns: float = 0.0
    seed: int = 0
    handover_ns: float = 0.0
    band: float = 0.0

    def __post_init__(self) -> None:
        if not (1 <= self.parallel <= MOST_PARALLEL and 1 <= self.kept_units <= MOST_UNITS):
            raise ValueError("too many parallel requests or units")

    def queue(self) -> StatefulQueue:
        """Return an idle device of this kind."""
        return StatefulQueue(self)

    def describe(self) -> str:
        """Return the cost in words."""
        words = [
            f"{self.latency_ns / 1000:,.0f} µs a request",
            f"{self.ns_per_kib / 1000:.1f} µs a KiB",
        ]
        if self.parallel > 1:
            words.append(f"up to {self.parallel} requests at once")
        if self.unit_kib:
            words.append(
                f"units of {self.unit_kib:,} KiB are read as a whole and the last "
                f"{self.kept_units} kept, {self.hit_ns / 1000:,.0f} µs and "
                f"{self.hit_ns_per_kib / 1000:.1f} µs a KiB"
            )
        if self.seek_ns or self.seek_ns_per_root:
            words.append(
                f"{self.seek_ns / 1000:,.0f} µs a seek and {self.seek_ns_per_root / 1000:.1f} µs "
                "times the square root of its KiB"
            )
        if self.fast_kib:
            words.append(
                f"{self.slow_ns_per_kib / 1000:.1f} µs a KiB after {self.fast_kib:,} KiB without "
                f"{self.rest_ns / 1e6:,.0f} ms of rest"
            )
        if self.jitter_ns:
            words.append(f"and a random time of {self.jitter_ns / 1000:,.0f} µs in the mean")
        return ", ".join(words)

    def perturbed(self, rng: np.random.Generator) -> Stateful:
        """Return a device with latencies, transfers and jitter drawn from the band."""
        seed = int(rng.integers(1, _WORD)) if self.jitter_ns else 0
        latency, transfer = np.maximum(rng.normal(1.0, self.band, 2), 0.0).tolist()
        return replace(
            self,
            seed=seed,
            latency_ns=self.latency_ns * latency,
            hit_ns=self.hit_ns * latency,
            seek_ns=self.seek_ns * latency,
            seek_ns_per_root=self.seek_ns_per_root * latency,
            ns_per_kib=self.ns_per_kib * transfer,
            hit_ns_per_kib=self.hit_ns_per_kib * transfer,
            slow_ns_per_kib=self.slow_ns_per_kib * transfer,
        )


@dataclass
class StatefulQueue:
    """``free_ns`` is when each place is free, ``moved_ns`` when the last transfer ends.

    ``end`` is the sector after the last request, ``sectors`` are the sectors since the last rest,
    ``units`` are the kept units, the one used longest ago first.
    """

    model: Stateful
    free_ns: list[float] = field(init=False)
    moved_ns: float = 0.0
    end: int = -1
    sectors: int = 0
    random: int = 1
    units: OrderedDict[int, None] = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        self.free_ns = [0.0] * self.model.parallel
        self.random = self.model.seed or 1

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
        model = self.model
        if now_ns >= self.moved_ns + model.rest_ns:
            self.sectors = 0
        latency, per_kib, read = self._cost(sector, sectors)
        latency += self._jitter()
        self.end = sector + sectors
        self.sectors += read
        place = self.free_ns.index(min(self.free_ns))
        free = self.free_ns[place]
        begin = free + model.handover_ns if now_ns < free else now_ns
        self.moved_ns = max(begin + latency, self.moved_ns) + read * per_kib / _SECTORS_PER_KIB
        self.free_ns[place] = self.moved_ns
        return self.moved_ns

    def _cost(self, sector: int, sectors: int) -> tuple[float, float, int]:
        """Return latency (ns), time per KiB (ns), and the transferred sectors."""
        model, read = self.model, sectors
        if model.unit_kib:
            read = self._units_read(sector, sectors) * model.unit_kib * _SECTORS_PER_KIB
            if not read:
                return model.hit_ns, model.hit_ns_per_kib, sectors
        slow = model.fast_kib and self.sectors >= model.fast_kib * _SECTORS_PER_KIB
        per_kib = model.slow_ns_per_kib if slow else model.ns_per_kib
        return model.latency_ns + self._seek(sector), per_kib, read

    def _seek(self, sector: int) -> float:
        end, model = max(self.end, 0), self.model
        distance = abs(sector - end)
        if distance == 0 and self.end >= 0:
            return 0.0
        if sector >> FILE_BITS != end >> FILE_BITS:
            return model.seek_ns
        return model.seek_ns + model.seek_ns_per_root * isqrt(distance // _SECTORS_PER_KIB)

    def _units_read(self, sector: int, sectors: int) -> int:
        """Return the number of units of a request that the disk does not have, and keep them."""
        unit, missing = self.model.unit_kib * _SECTORS_PER_KIB, 0
        for number in range(sector // unit, (sector + sectors - 1) // unit + 1):
            if number in self.units:
                self.units.move_to_end(number)
                continue
            missing += 1
            self.units[number] = None
            if len(self.units) > self.model.kept_units:
                self.units.popitem(last=False)
        return missing

    def _jitter(self) -> float:
        """Return a random latency: xorshift of 32 bits (Marsaglia 2003), short ones more often."""
        model = self.model
        if not model.jitter_ns or not model.seed:
            return model.jitter_ns
        value = self.random
        value ^= value << 13 & _WORD
        value ^= value >> 17
        value ^= value << 5 & _WORD
        self.random = value
        uniform = value >> 16
        return model.jitter_ns * 3 * (uniform * uniform >> 16) / 65536
