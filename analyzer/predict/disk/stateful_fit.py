"""Fits a disk whose requests cost more or less after others to observed requests.

The kinds are tried from the simplest: seeks, whole units that the disk keeps, and each with more
requests at once. Costs are fitted to requests that had the disk to themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.predict.disk.observed import Observed
from foreread.emulator.devices.stateful import MOST_UNITS, Stateful

UNITS_KIB = (8, 16, 32, 64, 128, 256, 512, 1024)
KEPT = (1, 2, 4, 8, 16, 32, 64, 128, 256)
PARALLEL = (1, 2, 4, 8, 16, 32)
FEWEST, FEWEST_AT_ONCE = 40, 4  # requests with no other in flight, and with another
BETTER = 0.8  # of the deviation of a simpler kind, that a kind needs
_EXACT = 1e-3  # deviation of a kind that needs no other
_ROUNDS = 30
_TAIL = 10  # times the median: a stall of the machine
_BROAD = 0.05  # median deviation in parts of the typical time: a random latency
_DEVIATION = 0.8**0.5  # standard deviation of Stateful's random latency, by its mean
_SEEK, _ROOT, _HIT, _HIT_KIB = "seek_ns", "seek_ns_per_root", "hit_ns", "hit_ns_per_kib"


@dataclass(frozen=True, eq=False)
class _Kind:
    """A kind of disk, and how often each cost is part of each request's time (requests × names)."""

    device: Stateful
    names: tuple[str, ...]
    parts: Array


@dataclass(frozen=True)
class _Fitted:
    device: Stateful
    deviation: float  # mean absolute one in parts of the time, each size by the root of its number


def fit_stateful(requests: Observed) -> Stateful | None:
    """Return the simplest kind of disk that deviates little; None if there are too few requests."""
    alone = ~requests.in_flight
    if np.count_nonzero(alone) < FEWEST:
        return None
    simple = [_fit(requests, alone, kind) for kind in _seeking(requests)]
    # One kind for all sizes of units and of the cache: none is simpler than another.
    keeping = min(
        (_fit(requests, alone, kind) for kind in _keeping(requests)),
        key=lambda fit: fit.deviation,
    )
    best = simple[0]
    for fit in (*simple[1:], keeping):
        if best.deviation > _EXACT and fit.deviation < BETTER * best.deviation:
            best = fit
    return _with_jitter(requests, best.device)


def _seeking(requests: Observed) -> Iterator[_Kind]:
    """Yield a disk of fixed cost, and disks that seek."""
    ends = np.append(0, (requests.sector + requests.sectors)[:-1])
    roots = np.floor(np.sqrt(np.abs(requests.sector - ends) // 2))
    seeks = (~requests.follows).astype(np.float64)
    columns = [np.ones(len(roots)), requests.kib, seeks, roots * seeks]
    names = ("latency_ns", "ns_per_kib", _SEEK, _ROOT)
    for number in (2, 3, 4):
        parts = np.column_stack(columns[:number])
        yield _Kind(Stateful(0.0, 0.0), names[:number], parts)


def _keeping(requests: Observed) -> Iterator[_Kind]:
    """Yield disks that read whole units and keep some."""
    names = ("latency_ns", "ns_per_kib", _HIT, _HIT_KIB)
    for kib in UNITS_KIB:
        first, distances = _distances(requests, kib)
        for kept in KEPT:
            missing = np.add.reduceat((distances >= kept).astype(np.float64), first)
            read = missing > 0
            columns = (read, missing * kib, ~read, np.where(read, 0.0, requests.kib))
            device = Stateful(0.0, 0.0, unit_kib=kib, kept_units=kept)
            yield _Kind(device, names, np.column_stack(columns).astype(np.float64))


def _distances(requests: Observed, kib: int) -> tuple[Array, Array]:
    """Return for each unit touched how many others were since; the first unit of each request.

    A disk that keeps more than that many has the unit (Mattson's stack distance).
    """
    stack: list[int] = []
    first: list[int] = []
    distances: list[int] = []
    ends = requests.sector + requests.sectors - 1
    bounds = zip((requests.sector // (2 * kib)).tolist(), (ends // (2 * kib)).tolist(), strict=True)
    for low, high in bounds:
        first.append(len(distances))
        for unit in range(low, high + 1):
            at = stack.index(unit) if unit in stack else MOST_UNITS
            distances.append(at)
            if at < MOST_UNITS:
                del stack[at]
            stack.insert(0, unit)
            del stack[MOST_UNITS:]
    return np.array(first), np.array(distances)


def _fit(requests: Observed, alone: Array, kind: _Kind) -> _Fitted:
    """Return a kind with the costs of the requests that had the disk to themselves."""
    parts, took = kind.parts[alone], requests.took_ns[alone]
    _, sizes, counts = np.unique(requests.sectors[alone], return_inverse=True, return_counts=True)
    weights = 1 / np.sqrt(counts[sizes])
    costs = _least_absolute(parts, took, weights)
    off = np.minimum(np.abs(took - parts @ costs), _TAIL * np.median(took))
    device = _with(kind.device, dict(zip(kind.names, costs.tolist(), strict=True)))
    return _Fitted(device, float((weights * off).sum() / (weights * took).sum()))


def _with(device: Stateful, costs: Mapping[str, float]) -> Stateful:
    return replace(device, **costs)  # type: ignore[arg-type]  # all of them are floats


def _least_absolute(parts: Array, took: Array, weights: Array) -> Array:
    """Return costs of 0 or more by weighted least absolute deviations."""
    used = parts.any(axis=0)
    while True:
        costs = np.zeros(parts.shape[1])
        weight = weights
        for _ in range(_ROUNDS):
            root = np.sqrt(weight)
            columns = parts[:, used] * root[:, None]
            costs[used] = np.linalg.lstsq(columns, took * root, rcond=None)[0]
            weight = weights / np.maximum(np.abs(took - parts @ costs), 1.0)
        if (costs >= 0).all():
            return costs
        used &= costs > costs.min()


def _at_once(requests: Observed, device: Stateful) -> Stateful:
    """Return a disk with the number of requests at once that fits those in flight together."""
    together = requests.in_flight
    if np.count_nonzero(together) < FEWEST_AT_ONCE:
        return device
    took = requests.took_ns[together]
    tried = [replace(device, parallel=number) for number in PARALLEL]
    off = [np.abs(took - requests.served_ns(candidate)[together]).mean() for candidate in tried]
    least = min(off)
    return next(
        candidate for candidate, each in zip(tried, off, strict=True) if each <= 1.02 * least
    )


def _with_jitter(requests: Observed, device: Stateful) -> Stateful:
    """Return a disk with its requests at once, and with a random latency if times deviate.

    The run waits for all of its requests, so that the mean latency counts and not the median.
    """
    alone = ~requests.in_flight
    took = requests.took_ns[alone]
    usual = took <= _TAIL * np.median(took)
    left = (took - requests.alone_ns(device)[alone])[usual]
    if np.median(np.abs(left)) <= _BROAD * np.median(took):
        return _at_once(requests, device)
    device = _at_once(requests, _transferring(requests, device))
    left = (took - requests.alone_ns(device)[alone])[usual]
    mean = max(device.latency_ns + float(left.mean()), 0.0)
    jitter = min(float(left.std()) / _DEVIATION, mean)
    return replace(device, latency_ns=mean - jitter, jitter_ns=jitter)


def _transferring(requests: Observed, device: Stateful) -> Stateful:
    """Return a disk with the time per KiB of requests that waited for their transfer alone.

    Their latency had passed when the one before them ended. Random latencies hide the time per KiB
    in those that had the disk to themselves, which are small.
    """
    done = np.maximum.accumulate(requests.complete_ns)
    latency_ns = (requests.took_ns - device.ns_per_kib * requests.kib)[~requests.in_flight]
    longest_ns = latency_ns[latency_ns <= _TAIL * np.median(latency_ns)].max()
    turn = np.append(False, requests.issue_ns[1:] + longest_ns <= done[:-1])
    if device.unit_kib or np.count_nonzero(turn) < FEWEST_AT_ONCE:
        return device
    transfer_ns = np.diff(done, prepend=0.0)[turn]
    kib = requests.kib[turn]
    costs = _least_absolute(kib[:, None], transfer_ns, np.ones(len(kib)))
    return replace(device, ns_per_kib=float(costs[0]))
