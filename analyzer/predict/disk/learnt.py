"""The simplest disk that explains a capture's requests: of fixed cost, or with a history."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from foreread.analyzer.ingest.tables import Table
from foreread.analyzer.predict.disk.calibration import SMALLEST_BAND
from foreread.analyzer.predict.disk.device_model import (
    DeviceModelError,
    UnexplainedError,
    fit_line,
    learn,
)
from foreread.analyzer.predict.disk.observed import Observed, observed, unexplained
from foreread.analyzer.predict.disk.stateful_fit import FEWEST_AT_ONCE, fit_stateful
from foreread.emulator.devices.device import FixedCost
from foreread.emulator.devices.stateful import Stateful

MOST_SPREAD = 0.05  # median residual, in parts of a 4 KiB request's time
MOST_ADDED = 0.05  # by a driver, in parts of the disk's time for the same request
# Of the time in turn, that requests take which were issued while others were served: half of it,
# if small ones are served at once.
_AT_ONCE = 0.75
_PAGE_SECTORS = 8


def learn_disk(requests: Table, each_ns: float = 0.0) -> FixedCost | Stateful:
    """Return the disk that explains its requests (REQUESTS); recording an issue took ``each_ns``.

    Raises DeviceModelError where none does: the cost of its requests depends on something else.
    """
    fixed = learn(requests)
    fixed = replace(fixed, latency_ns=max(fixed.latency_ns - each_ns, 0.0))
    seen = observed(requests, each_ns)
    off = unexplained(seen, fixed)
    straight = off is None and fixed.spread_ns <= MOST_SPREAD * fixed.service_ns(_PAGE_SECTORS)
    if straight and not _at_once(seen, fixed):
        return fixed
    fitted = fit_stateful(seen)
    if fitted is None and straight:
        return fixed
    if fitted is None:
        raise DeviceModelError("the requests do not fit a fixed cost, and are too few to see why")
    off = unexplained(seen, fitted)
    if off is not None:
        raise UnexplainedError(f"no kind of disk explains the requests: {off}")
    return replace(fitted, band=_band(seen, fitted))


def _at_once(seen: Observed, fixed: FixedCost) -> bool:
    """Return whether requests in flight together are served at once: too few for a group, often."""
    together = seen.in_flight
    if np.count_nonzero(together) < FEWEST_AT_ONCE:
        return False
    in_turn = seen.served_ns(fixed)[together].sum()
    return bool(seen.took_ns[together].sum() < _AT_ONCE * in_turn)


def _band(seen: Observed, fitted: Stateful) -> float:
    """Return the largest standard error of the mean time of all, small and large requests.

    In parts of that time. A start under another window has other shares of large ones.
    """
    took, small = seen.took_ns, seen.sectors == np.median(seen.sectors)
    deviation = float((took - seen.served_ns(fitted)).std())
    groups = (took, took[small], took[~small])
    errors = [deviation / np.sqrt(len(group)) / group.mean() for group in groups if len(group)]
    return float(min(max(*errors, SMALLEST_BAND), 1.0))


def with_copies(given: Stateful, requests: Table, each_ns: float) -> Stateful:
    """Return a given disk with its driver's time added, if the recording is of that disk.

    As ``with_driver`` of analyzer/program/driver.py: the processor sets a request up and copies
    its data, which the disk's figures do not contain.
    """
    seen = observed(requests, each_ns)
    alone = ~seen.in_flight
    if not alone.any():
        return given
    disk_ns, kib = seen.alone_ns(given)[alone], seen.kib[alone]
    _, sizes, counts = np.unique(kib, return_inverse=True, return_counts=True)
    added = seen.took_ns[alone] - disk_ns
    request, per_kib = fit_line(kib, added, 1 / np.sqrt(counts[sizes]))
    if not 0 <= np.median(added) <= MOST_ADDED * np.median(disk_ns):
        return given
    return replace(
        given,
        latency_ns=given.latency_ns + request,
        hit_ns=given.hit_ns + request if given.unit_kib else 0.0,
        ns_per_kib=given.ns_per_kib + per_kib,
        hit_ns_per_kib=given.hit_ns_per_kib + per_kib if given.unit_kib else 0.0,
    )
