"""Corrects a measured disk by the requests that the recorded run sent to it one at a time.

A probe times its reads from user space: the system call, the wake-up and the reader itself are in
its times. The replay counts the processor's part of a request separately, so the disk's time must
not contain it, too. The requests of the run show how much it is.
"""

from __future__ import annotations

from dataclasses import replace
from math import hypot

import numpy as np

from foreread.analyzer.ingest.tables import Array, Table
from foreread.emulator.devices.measured import Measured, Point

FEWEST = 30  # requests needed of a pattern to measure its difference
_MOST = 0.5  # part of the measured time; with a larger difference it was another disk
_LEAST_LEFT = 0.05
_TAIL = 10  # times the median: a longer time is a stall, not the disk's typical time
_PARTS = 10  # of a run, whose latencies are compared


def as_in_run(device: Measured, requests: Table, each_ns: float, same_disk: bool) -> Measured:
    """Return a measured disk whose latencies are those of the run's requests.

    ``requests`` are one disk's, in order of issue; recording one event takes ``each_ns``. All
    sizes change by the same time. The band then includes the change of latency during the run:
    shared disks drift. The disk is returned unchanged if the run has too few requests with no other
    in flight; and, unless it is known to be the ``same_disk``, if the requests took much more or
    much less time.
    """
    alone, sequential = _alone(requests), _sequential(requests)
    shifts: dict[bool, float] = {}
    drifts: list[float] = []
    for pattern in (False, True):
        rows = alone & (sequential == pattern)
        if np.count_nonzero(rows) >= FEWEST:
            chosen = requests.take(rows)
            shift, part = _shift(device, chosen, each_ns, pattern)
            if abs(part) > _MOST and not same_disk:
                return device
            shifts[pattern] = shift
            drifts.append(_drift(chosen))
    if not shifts:
        return device
    either = next(iter(shifts.values()))
    points = [_shifted(point, shifts.get(point.sequential, either)) for point in device.points]
    return replace(device, points=tuple(points), band=min(hypot(device.band, max(drifts)), 1.0))


def _alone(requests: Table) -> Array:
    """Return which requests had the disk to themselves from issue to completion."""
    issue, complete = requests["issue_ns"], requests["complete_ns"]
    before = np.append(np.uint64(0), np.maximum.accumulate(complete)[:-1])
    following = np.append(issue[1:], np.iinfo(np.uint64).max)
    return np.asarray((complete > issue) & (before <= issue) & (following >= complete))


def _sequential(requests: Table) -> Array:
    """Return which requests begin where the one before ended."""
    ends = requests["sector"] + requests["sectors"]
    return np.append(False, requests["sector"][1:] == ends[:-1])


def _shift(
    device: Measured, requests: Table, each_ns: float, sequential: bool
) -> tuple[float, float]:
    """Return by how much the run's requests took longer (ns, mean), and as a part of their time.

    The mean, since the run waited for all of them: the tail belongs to the disk's cost.
    """
    latency, _ = device.times(sequential)
    known = {sectors: latency.at(sectors / 2) for sectors in np.unique(requests["sectors"])}
    measured = np.array([known[sectors] for sectors in requests["sectors"]])
    took = _took(requests) - each_ns
    shift = float(np.mean(np.minimum(took, _TAIL * np.median(took)) - measured))
    return shift, shift / float(np.mean(measured))


def _drift(requests: Table) -> float:
    """Return the relative difference of the typical latency between parts of the run."""
    took = _took(requests)
    number = min(_PARTS, len(took) // FEWEST)
    if number < 2:
        return 0.0
    usual = np.array([np.median(part) for part in np.array_split(took, number)])
    return float(usual.std() / usual.mean())


def _took(requests: Table) -> Array:
    return requests["complete_ns"].astype(np.float64) - requests["issue_ns"]


def _shifted(point: Point, shift: float) -> Point:
    latency = max(point.latency_ns + shift, _LEAST_LEFT * point.latency_ns)
    return replace(point, latency_ns=latency, occupancy_ns=min(point.occupancy_ns, latency))
