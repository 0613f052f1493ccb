"""Fits the kinds of device to a disk's measurements.

Every kind is compared with the same figure: the requests a second of each trial, computed by one
rule for device and trial. The simplest kind that explains them is chosen; a table, which always
fits more or less, is the last resort.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import heapreplace
from math import inf

import numpy as np

from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.predict.disk.device_model import fit_line
from foreread.boards.base.units import KIB
from foreread.emulator.devices.device import DeviceModel, FixedCost
from foreread.emulator.devices.measured import Measured, Point
from foreread.emulator.devices.paced import THROTL_SLICE_NS, Paced

EXPLAINED = 0.05  # median error of the trials up to which a kind explains them
SMALLEST_BAND = 0.005
_STALL_NS = 8e6  # between completions, longer than any request of an unlimited disk
_STALL_SHARE = 0.5  # of a trial's time in stalls, where a limiter is at work
_FEWEST_STALLS, _FEWEST_BURSTS = 2, 5  # of a trial, and of all together
_SLICES = (0.9, 1.1)  # stalls' distance in slices of the limiter
_CUT, _EDGES = 0.5, 0.7  # distance where bursts are cut; part of the time stalled at edges
_BINDS = 0.95  # a trial at this part of the highest rate counts as limited by it
_TELLS_APART = 0.97  # medians of rates that differ by less may be the same limit
_SECTOR = 512
_APART = 1 << 20  # sectors between requests at random
_MOST_SIMULATED = 20_000  # requests of a trial


@dataclass(frozen=True, eq=False)
class Trial:
    """Requests of ``kib``, in order or at random, always ``depth`` in flight.

    ``done_ns``: when each completed, rising; ``latency_ns``: how long it took.
    """

    kib: int
    sequential: bool
    depth: int
    done_ns: Array
    latency_ns: Array

    def per_second(self) -> float:
        """Return the requests a second: from stall to stall, or without stalls the typical rate."""
        starts = self.bursts()
        if len(starts) >= _FEWEST_STALLS:
            took = self.done_ns[starts[-1]] - self.done_ns[starts[0]]
            return float((starts[-1] - starts[0]) / took * 1e9)
        return 1e9 / max(self.each_ns(), 1.0)

    def each_ns(self) -> float:
        """Return the typical time between completions, robust against a few late ones."""
        if self.depth == 1:
            waits = self.latency_ns[self.latency_ns > _STALL_NS]
            stalled = waits.sum() > _STALL_SHARE * self.latency_ns.sum()
            return float(np.mean(self.latency_ns) if stalled else np.median(self.latency_ns))
        took = float(self.done_ns[-1] - self.done_ns[0])
        windows = min(len(self.done_ns) // 20, 40)
        if windows < 4:
            return took / max(len(self.done_ns) - 1, 1) or self.latency_ns[0] / self.depth
        edges = np.linspace(self.done_ns[0], self.done_ns[-1], windows + 1)
        counts = np.diff(np.searchsorted(self.done_ns, edges))
        usual = float(np.median(counts)) or len(self.done_ns) / windows
        return took / windows / usual

    def bursts(self) -> Array:
        """Return the rows of requests after a stall, if stalls take most of the time."""
        gaps = np.diff(self.done_ns)
        stalled = gaps > max(_STALL_NS, 4 * float(np.percentile(gaps, 25)) if len(gaps) else 0)
        if gaps[stalled].sum() < _STALL_SHARE * gaps.sum():
            return np.zeros(0, np.int64)
        return np.flatnonzero(stalled) + 1


@dataclass(frozen=True)
class Found:
    """The device, and the relative errors of its requests a second in each trial."""

    device: FixedCost | Paced | Measured
    errors: tuple[float, ...]

    @property
    def median(self) -> float:
        """Return the median of the absolute errors."""
        return float(np.median(np.abs(self.errors)))

    @property
    def worst(self) -> float:
        """Return the largest absolute error."""
        return float(np.max(np.abs(self.errors)))

    @property
    def figures(self) -> int:
        """Return the number of fitted figures; a table has none."""
        if isinstance(self.device, Paced):
            return 3
        return 2 if isinstance(self.device, FixedCost) else 0

    @property
    def explains(self) -> bool:
        """Return whether the device explains nearly all trials."""
        most = float(np.percentile(np.abs(self.errors), 90))
        return self.median <= EXPLAINED and most <= 4 * EXPLAINED

    @property
    def band(self) -> float:
        """Return the relative standard error of the figures."""
        return min(max(self.median, SMALLEST_BAND), 1.0)

    def with_band(self) -> FixedCost | Paced | Measured:
        """Return the device with its band."""
        return replace(self.device, band=self.band)


def explain(trials: Sequence[Trial]) -> Found:
    """Return the device that explains the trials."""
    if any(len(trial.bursts()) >= _FEWEST_STALLS for trial in trials):
        limiter = _limiter(trials)
        if limiter is not None:
            return _held(limiter, trials)
    simple = [_held(_fixed(trials), trials), _held(_even(trials), trials)]
    explaining = [fit for fit in simple if fit.explains]
    if explaining:
        # Not the median: it misses a kind that is wrong about only a few trials.
        return min(explaining, key=lambda fit: np.mean(np.abs(fit.errors)))
    return _held(_table(trials), trials)


def _held(device: FixedCost | Paced | Measured, trials: Sequence[Trial]) -> Found:
    errors = [simulate(device, trial).per_second() / trial.per_second() - 1 for trial in trials]
    return Found(device, tuple(errors))


def simulate(device: DeviceModel, trial: Trial) -> Trial:
    """Return the trial as simulated on a device, for the same duration."""
    queue = device.queue()
    until = float(trial.done_ns[-1]) + 1
    sectors = trial.kib * KIB // _SECTOR
    under_way = [0.0] * trial.depth
    sent: list[float] = []
    done: list[float] = []
    while len(done) < _MOST_SIMULATED and under_way[0] < until:
        now = under_way[0]
        at = len(done) * (sectors if trial.sequential else sectors + _APART)
        sent.append(now)
        done.append(queue.submit(now, at, sectors))
        heapreplace(under_way, done[-1])
    order = np.argsort(done, kind="stable")
    ends_ns, begun_ns = np.array(done)[order], np.array(sent)[order]
    return Trial(trial.kib, trial.sequential, trial.depth, ends_ns, ends_ns - begun_ns)


def _alone(trials: Sequence[Trial]) -> list[Trial]:
    return [trial for trial in trials if trial.depth == 1]


def _line(trials: Sequence[Trial], each: Sequence[float]) -> FixedCost:
    """Return latency and time per KiB of one request at a time, from the trials' typical times."""
    kib = np.array([trial.kib for trial in trials], np.float64)
    latency, per_kib = fit_line(kib, np.array(each), 1 / np.array(each))
    return FixedCost(latency, per_kib)


def _fixed(trials: Sequence[Trial]) -> FixedCost:
    alone = _alone(trials)
    return _line(alone, [trial.each_ns() for trial in alone])


def _even(trials: Sequence[Trial]) -> Paced:
    """Return a constant pace: the highest rates, and the latency of a single request."""
    turns = np.array([trial.per_second() for trial in trials])
    sizes = turns * np.array([trial.kib * KIB for trial in trials])
    small = min(trial.kib for trial in _alone(trials))
    base = min(trial.each_ns() for trial in _alone(trials) if trial.kib == small)
    requests, size = _rate(turns[_highest(turns)]), _rate(sizes[_highest(sizes)])
    return Paced(requests, size, FixedCost(base, 0.0), slice_ns=0.0)


def _limiter(trials: Sequence[Trial]) -> Paced | None:
    """Return the limiter that makes the trials stall; None if the stalls do not match one.

    A limit is known if it delays a trial that the other limit does not.
    """
    stalled = [trial for trial in trials if len(trial.bursts()) >= _FEWEST_STALLS]
    apart = [
        np.median(np.diff(trial.done_ns[trial.bursts()])) / THROTL_SLICE_NS for trial in stalled
    ]
    if sum(map(len, (trial.bursts() for trial in stalled))) < _FEWEST_BURSTS:
        return None
    usual = float(np.median(apart)) if apart else 0.0
    # A busy machine cuts bursts in two; most of the time stalled still ends at slices' edges.
    cut = _CUT <= usual < _SLICES[0] and np.mean([_at_edges(trial) for trial in stalled]) >= _EDGES
    if not cut and not _SLICES[0] <= usual <= _SLICES[1]:
        return None
    turns = np.array([trial.per_second() for trial in stalled])
    sizes = turns * np.array([trial.kib * KIB for trial in stalled])
    by_turn, by_size = _highest(turns), _highest(sizes)
    small = np.array([trial.kib for trial in stalled]) == min(trial.kib for trial in stalled)
    large = sizes[by_size & ~small]
    if len(large) and np.median(sizes[small]) < _TELLS_APART * np.median(large):
        by_size &= ~small  # close to the limit of bytes, and yet below it
    return Paced(
        _rate(turns[by_turn & ~by_size]), _rate(sizes[by_size & ~by_turn]), _behind(trials)
    )


def _at_edges(trial: Trial) -> float:
    """Return the part of the stalled time that ends at one phase of the limiter's slices."""
    starts = trial.bursts()
    stalled = np.diff(trial.done_ns)[starts - 1]
    phase = trial.done_ns[starts] % THROTL_SLICE_NS
    apart = np.abs(phase[:, None] - phase[None, :])
    near = np.minimum(apart, THROTL_SLICE_NS - apart) <= _STALL_NS
    return float((near @ stalled).max() / stalled.sum())


def _highest(rates: Array) -> Array:
    """Return which rates equal the highest one, as under a limit."""
    limit = np.median(rates[rates >= _BINDS**2 * rates.max()])
    return np.asarray(rates >= _BINDS * limit)


def _rate(rates: Array) -> float:
    return float(np.median(rates)) if len(rates) else inf


def _behind(trials: Sequence[Trial]) -> FixedCost:
    """Return the cost of the device behind a limiter, from the requests that it did not delay."""
    alone = _alone(trials)
    let_pass = [trial.latency_ns[trial.latency_ns < _STALL_NS] for trial in alone]
    known = [row for row, passed in enumerate(let_pass) if len(passed) >= 3]
    if len(known) < 2:
        return FixedCost(0.0, 0.0)
    chosen = [alone[row] for row in known]
    return _line(chosen, [float(np.median(let_pass[row])) for row in known])


def _table(trials: Sequence[Trial]) -> Measured:
    """Return the table of the measurements."""
    alone = {(trial.kib, trial.sequential): trial.each_ns() for trial in _alone(trials)}
    deep = {(trial.kib, trial.sequential): trial.each_ns() for trial in trials if trial.depth > 1}
    points = [
        Point(kib, sequential, latency, min(deep.get((kib, sequential), latency), latency))
        for (kib, sequential), latency in sorted(alone.items())
    ]
    return Measured(tuple(points))
