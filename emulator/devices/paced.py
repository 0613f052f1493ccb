"""A rate-limited device: a maximum of requests and of bytes a second.

With a slice it is the kernel's blkio limiter, which grants each slice's budget at once; without a
slice, requests pass evenly. After block/blk-throttle.c of Linux 6.18.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf

import numpy as np

from foreread.emulator.devices.device import DeviceQueue, FixedCost, FixedQueue

THROTL_SLICE_NS = 100e6  # DFL_THROTL_SLICE: HZ / 10
TICK_NS = 4e6  # a jiffy at CONFIG_HZ=250, Debian's and most distributions' choice
AT_ONCE = FixedCost(0.0, 0.0)
_SECTOR = 512
_COPIED_NS_PER_KIB = 500.0  # a disk of 2 GB/s is memory
_WHEEL = 63  # ticks of the first level of the timer wheel; each level reaches 8 times as far


@dataclass(frozen=True)
class Paced:
    """Two simultaneous limits, of which the stricter one counts; ``base`` is the limited device.

    A request counts once for each of its bios. ``slice_ns`` is the time of a budget that is granted
    at once, 0 if requests pass evenly; ``tick_ns`` the granularity of waits, which are rounded up.
    ``band`` is the standard error of the rates, as a share.
    """

    requests_per_second: float = inf
    bytes_per_second: float = inf
    base: FixedCost = AT_ONCE
    slice_ns: float = THROTL_SLICE_NS
    tick_ns: float = TICK_NS
    band: float = 0.0

    def __post_init__(self) -> None:
        if not (self.requests_per_second > 0 and self.bytes_per_second > 0):
            raise ValueError("rates must be above 0")
        if self.slice_ns and not 0 < self.tick_ns <= self.slice_ns:
            raise ValueError("a tick must be above 0 and not above a slice")

    def queue(self) -> DeviceQueue:
        """Return an idle device of this kind."""
        return LimiterQueue(self) if self.slice_ns else EvenQueue(self)

    def describe(self) -> str:
        """Return the limits in words."""
        limits = []
        if self.requests_per_second < inf:
            limits.append(f"{self.requests_per_second:,.0f} requests/s")
        if self.bytes_per_second < inf:
            limits.append(f"{self.bytes_per_second / 1e6:,.1f} MB/s")
        how = f"in slices of {self.slice_ns / 1e6:.0f} ms" if self.slice_ns else "evenly"
        limit = " and ".join(limits) or "nothing"
        return f"limited to {limit}, {how}; then {self.base.describe()}"

    def perturbed(self, rng: np.random.Generator) -> Paced:
        """Return a device with both rates drawn from the band, independently."""
        base = self.base.perturbed(rng)
        if not self.band:
            return replace(self, base=base)
        requests, size = np.maximum(rng.normal(1.0, self.band, 2), 0.01).tolist()
        return replace(
            self,
            base=base,
            requests_per_second=self.requests_per_second * requests,
            bytes_per_second=self.bytes_per_second * size,
        )


@dataclass
class EvenQueue:
    """Each request takes its time at the stricter rate, but at least that of the base device."""

    model: Paced
    free_ns: float = 0.0
    base: DeviceQueue = field(init=False)

    def __post_init__(self) -> None:
        self.base = self.model.base.queue()

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
        if unlimited:
            return self.base.submit(now_ns, sector, sectors, bios, meta)
        model = self.model
        share = max(bios / model.requests_per_second, sectors * _SECTOR / model.bytes_per_second)
        self.free_ns = max(now_ns, self.free_ns) + share * 1e9
        return max(self.free_ns, self.base.submit(now_ns, sector, sectors, bios, meta))


@dataclass
class LimiterQueue:
    """struct throtl_grp: the I/O granted since ``start``, in ticks of the clock."""

    model: Paced
    start: int = 0
    end: int = -1
    passed_bytes: float = 0.0
    passed_bios: int = 0
    free_ns: float = 0.0  # when the last waiting bio passed
    at_once: bool = False  # the last read: no wait, and its data were copied meanwhile
    overtaken_ns: float = 0.0  # when reads that the limiter did not hold are served
    base: FixedQueue = field(init=False)

    def __post_init__(self) -> None:
        self.base = self.model.base.queue()
        self._slice = max(round(self.model.slice_ns / self.model.tick_ns), 1)

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
        self.at_once = self.model.base.ns_per_kib < _COPIED_NS_PER_KIB
        if unlimited:
            return self._overtake(now_ns, sectors)
        overtakes = meta and now_ns < self.free_ns
        at, rest = now_ns, sectors
        for bio in range(bios, 0, -1):
            part = rest // bio
            rest -= part
            at = self._pass(now_ns, part * _SECTOR, meta)
        self.at_once &= at == now_ns
        if overtakes:
            return self._overtake(at, sectors)
        return self.base.submit(at, sector, sectors, bios, meta)

    def _overtake(self, now_ns: float, sectors: int) -> float:
        """Serve a read that the limiter does not hold: it passes those that it holds."""
        base = FixedQueue(self.model.base, self.overtaken_ns)
        self.overtaken_ns = base.submit(now_ns, 0, sectors)
        self.base.free_ns = max(self.base.free_ns, self.overtaken_ns)
        return self.overtaken_ns

    def _pass(self, now_ns: float, size: int, meta: bool) -> float:
        """Return when a bio passes (__blk_throtl_bio); later bios stay after it."""
        if meta and now_ns < self.free_ns:
            self._charge(size)
            return now_ns
        at = max(now_ns, self.free_ns)
        queued = False
        while wait := self._wait(int(at // self.model.tick_ns), size, queued):
            if meta:
                self._charge(size)  # metadata passes in advance of its budget
                return at
            queued = True
            at = _expiry(int(at // self.model.tick_ns), wait) * self.model.tick_ns
        self._charge(size)
        self._trim(int(at // self.model.tick_ns))
        self.free_ns = at
        return at

    def _charge(self, size: int) -> None:
        self.passed_bytes += size
        self.passed_bios += 1

    def _wait(self, now: int, size: int, queued: bool) -> int:
        """Return the ticks that a bio must wait (tg_dispatch_time)."""
        if not queued and not self.start <= now <= self.end:
            self.start, self.end = now, now + self._slice
            self.passed_bytes = self.passed_bios = 0
        else:
            self._extend(now + self._slice)
        wait = self._wait_for_bytes(now, size) or self._wait_for_turn(now)
        self._extend(now + wait)
        return wait

    def _extend(self, end: int) -> None:
        if self.end < end:
            self.end = _up(end, self._slice)

    def _wait_for_bytes(self, now: int, size: int) -> int:
        """tg_within_bps_limit."""
        rate = self.model.bytes_per_second * self.model.tick_ns / 1e9  # bytes a tick
        if rate == inf:
            return 0
        elapsed = now - self.start
        granted = _up(max(elapsed, 1), self._slice)
        extra = self.passed_bytes + size - rate * granted
        return 0 if extra <= 0 else max(int(extra / rate), 1) + granted - elapsed

    def _wait_for_turn(self, now: int) -> int:
        """tg_within_iops_limit."""
        rate = self.model.requests_per_second * self.model.tick_ns / 1e9  # bios a tick
        if rate == inf:
            return 0
        elapsed = now - self.start
        granted = _up(elapsed + 1, self._slice)
        if self.passed_bios + 1 <= int(rate * granted):
            return 0
        return max(granted - elapsed, int(1 / rate) + 1)

    def _trim(self, now: int) -> None:
        """throtl_trim_slice: forget expired slices and their unused budget, except the last one."""
        if not self.start <= now <= self.end:
            return
        self.end = _up(now + self._slice, self._slice)
        elapsed = (now - self.start) // self._slice * self._slice - self._slice
        if elapsed < self._slice:
            return
        seconds = elapsed * self.model.tick_ns / 1e9
        size, bios = self.passed_bytes, self.passed_bios
        if self.model.bytes_per_second < inf:
            self.passed_bytes = max(size - self.model.bytes_per_second * seconds, 0.0)
        if self.model.requests_per_second < inf:
            self.passed_bios = max(bios - int(self.model.requests_per_second * seconds), 0)
        if (size, bios) != (self.passed_bytes, self.passed_bios):
            self.start += elapsed


def _up(ticks: int, slice_: int) -> int:
    return -(-ticks // slice_) * slice_


def _expiry(now: int, wait: int) -> int:
    """Return when a timer of ``wait`` ticks expires (calc_wheel_index: never early)."""
    grain = 1
    while wait >= _WHEEL * grain:
        grain *= 8
    return ((now + wait) // grain + 1) * grain
