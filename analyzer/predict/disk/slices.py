"""Finds the kernel's limiter by the number of requests that pass in each of its slices.

A busy machine makes a trial slower, never faster, and splits its bursts. The limit is the number of
requests that several slices have in common, each followed by a long wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.predict.disk.calibration import Trial
from foreread.boards.base.units import KIB
from foreread.emulator.devices.device import FixedCost
from foreread.emulator.devices.paced import THROTL_SLICE_NS, TICK_NS, Paced

_STALL_NS = 8e6  # two ticks of the clock
_WAIT_NS = 0.2 * THROTL_SLICE_NS  # the limiter's own wait in a slice; a busy machine makes shorter
_FEWEST = 3  # slices that agree
_MANY = 50  # requests in a slice, of which a fraction does not matter
_CARRIED = 3  # slices: the budget that may be left over, and the edges of a count
_BINDS = 0.95
_QUANTILES = (0.1, 0.25, 0.5)


@dataclass(frozen=True)
class Held:
    """Requests of ``kib`` that a limiter held to ``per_second``, in ``slices`` that agree.

    ``spread`` is the standard error of the rate, in parts of it; one request more or fewer in all
    is part of it.
    """

    kib: float
    per_second: float
    slices: int
    spread: float

    @property
    def bytes_per_second(self) -> float:
        """Return the bytes a second."""
        return self.per_second * self.kib * KIB


def held(kib: float, times_ns: Array) -> Held | None:
    """Return the rate of a limiter; None if slices do not agree on one.

    ``times_ns`` are rising: when the disk got each request, or completed it.
    """
    counts = (_in_slices(times_ns, _edges(times_ns)), _in_slices_of_first(times_ns))
    rates = (_agreed(kib, times_ns, each) for each in counts)
    return next((rate for rate in rates if rate is not None), None)


def _agreed(kib: float, times_ns: Array, counts: Array) -> Held | None:
    """Return the rate that the numbers of requests in slices agree on; None if they do not."""
    if len(counts) < _FEWEST:
        return None
    near = np.abs(counts[:, None] - counts[None, :]) <= 1  # more would agree by chance
    agree = counts[near[int(np.argmax(near.sum(axis=1) + counts / (1 + counts.max())))]]
    # A budget of 15.26 requests shows as 15 and 16; one of 100 as 100, or 99 by a busy machine.
    usual = float(agree.mean() if agree.mean() < _MANY else np.median(agree))
    if len(agree) < max(_FEWEST, len(counts) / 3) or _exceeds(times_ns, usual):
        return None
    spread = float(np.hypot(agree.std() / np.sqrt(len(agree)), 1 / len(agree)) / usual)
    return Held(kib, usual / THROTL_SLICE_NS * 1e9, len(agree), spread)


def held_trial(trial: Trial) -> Held | None:
    """Return the rate of a limiter in a probe's trial; None if there is none."""
    return held(trial.kib, trial.done_ns)


def _edges(times_ns: Array) -> Array:
    """Return the rows of requests that came after a pause; the first one did."""
    gaps = np.diff(times_ns)
    if not len(gaps):
        return np.zeros(0, np.int64)
    pause = max(_STALL_NS, 4 * float(np.percentile(gaps, 25)))
    return np.concatenate(([0], np.flatnonzero(gaps > pause) + 1))


def _in_slices(times_ns: Array, edges: Array) -> Array:
    """Return the requests between edges that are a slice apart, with the limiter's wait between."""
    at, waits = times_ns[edges], np.diff(times_ns, prepend=times_ns[:1])[edges]
    counts = []
    for row, begin in enumerate(at.tolist()):
        last = int(np.argmin(np.abs(at - begin - THROTL_SLICE_NS)))
        apart = abs(float(at[last]) - begin - THROTL_SLICE_NS)
        if last > row and apart <= _STALL_NS and waits[row + 1 : last + 1].max() >= _WAIT_NS:
            counts.append(int(edges[last] - edges[row]))
    return np.array(counts, np.float64)


def _in_slices_of_first(times_ns: Array) -> Array:
    """Return the requests in the slices that began with the first request, if a wait ended them.

    A reader that gets its processor late sends its requests late, and no two bursts may be a slice
    apart. The limiter's slices stay where they are.
    """
    if not len(times_ns):
        return np.zeros(0)
    slices = (times_ns - times_ns[0] + TICK_NS) // THROTL_SLICE_NS
    begins = np.flatnonzero(np.diff(slices, prepend=-1))
    waits = times_ns[begins[1:]] - times_ns[begins[1:] - 1]
    whole = (waits >= _WAIT_NS) & (np.diff(slices[begins]) == 1)
    return np.asarray(np.diff(begins)[whole], np.float64)


def _exceeds(times_ns: Array, in_slice: float) -> bool:
    """Return whether more requests passed than a limit of so many in a slice allows."""
    for slices in (5, 20, 100):
        ends = np.searchsorted(times_ns, times_ns + slices * THROTL_SLICE_NS)
        if (ends - np.arange(len(times_ns))).max() > (slices + _CARRIED) * in_slice + 1:
            return True
    return False


def limiter(trials: Sequence[Trial], own: Held | None) -> tuple[Paced, float] | None:
    """Return the limiter and its band; None if the trials do not determine both of its limits.

    ``own`` are the requests of the recorded run. Small and large requests must have been delayed: a
    limit that no trial hit is unknown.
    """
    held_by_trial = {id(trial): run for trial in trials if (run := held_trial(trial)) is not None}
    delayed = [*held_by_trial.values()] + ([] if own is None else [own])
    small, *larger = sorted({trial.kib for trial in trials})
    if not larger or not any(run.kib <= small for run in delayed):
        return None
    if not any(run.kib >= larger[0] for run in delayed):
        return None
    turns = np.array([run.per_second for run in delayed])
    sizes = np.array([run.bytes_per_second for run in delayed])
    by_turn, by_size = turns >= _BINDS * turns.max(), sizes >= _BINDS * sizes.max()
    # Few requests in a slice tell little: 4 of 256 KiB may be a limit of 4.3.
    most = 1 + np.array([run.spread for run in delayed])
    near = (turns * most >= _BINDS * turns.max()) | (sizes * most >= _BINDS * sizes.max())
    if not near.all():
        return None  # two trials that the same limit should hold differ
    largest = max(run.kib for run in delayed)
    larger_trials = [trial for trial in trials if trial.kib > largest]
    if not (by_size & ~by_turn).any() and any(map(_waits, larger_trials)):
        return None  # larger requests waited as well, perhaps for the limit of bytes
    weights = np.array([run.slices for run in delayed], np.float64)
    requests, size = (
        _mean(rates[chosen], weights[chosen])
        for rates, chosen in ((turns, by_turn & ~by_size), (sizes, by_size & ~by_turn))
    )
    disk = _unlimited([trial for trial in trials if id(trial) in held_by_trial])
    off = [run.per_second / min(requests, size / (run.kib * KIB)) - 1 for run in delayed]
    band = float(max(np.abs(off).max(), *(run.spread for run in delayed)))
    device = Paced(requests, size, disk)
    return None if any(_faster(trial, device) for trial in trials) else (device, band)


def _mean(rates: Array, weights: Array) -> float:
    return float(np.average(rates, weights=weights)) if len(rates) else inf


def _waits(trial: Trial) -> bool:
    """Return whether requests waited as a limiter lets them wait, or a busy machine."""
    return int((np.diff(trial.done_ns) >= _WAIT_NS).sum()) >= _FEWEST


def _faster(trial: Trial, device: Paced) -> bool:
    """Return whether a trial was faster than the limits allow."""
    in_slice = min(device.requests_per_second, device.bytes_per_second / (trial.kib * KIB))
    return _exceeds(trial.done_ns, in_slice * THROTL_SLICE_NS / 1e9)


def _unlimited(trials: Sequence[Trial]) -> FixedCost:
    """Return the cost of the disk without its limiter, from the reads that did not wait.

    A busy machine makes reads slower, never faster, and seldom all of them. So a KiB costs the
    least difference between reads of two sizes, among several quantiles.
    """
    passed = {
        trial.kib: np.quantile(fast, _QUANTILES)
        for trial in trials
        if trial.depth == 1
        and len(fast := trial.latency_ns[trial.latency_ns < _STALL_NS]) >= _FEWEST
    }
    if len(passed) < 2:
        return FixedCost(0.0, max((ns[-1] / kib for kib, ns in passed.items()), default=0.0))
    small, large = min(passed), max(passed)
    per_kib = max(float((passed[large] - passed[small]).min()), 0.0) / (large - small)
    return FixedCost(max(float(passed[small][-1]) - per_kib * small, 0.0), per_kib)
