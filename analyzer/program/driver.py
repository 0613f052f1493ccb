"""The time that the kernel adds to a disk's: handing on requests, and the driver's work.

Estimated from the requests of a recording.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from foreread.analyzer.ingest.tables import Table
from foreread.analyzer.program.event_owners import askers
from foreread.emulator.devices.device import FixedCost

FEWEST = 3  # requests that waited for the one before them
_SHARE = 25  # percentile: the shortest times after a completion are the kernel's own work
_LATEST_NS = 1e6  # a request issued later was delayed by something else
MOST_ADDED = 0.05  # by a driver, in parts of the disk's time


def handover_ns(requests: Table, events: Table, each_ns: float) -> float:
    """Return the time from a completion to the issue of a waiting request; 0 if unknown.

    A kernel worker issues it if the disk takes one request at a time. ``requests`` are one
    disk's, in order of issue; recording an event takes ``each_ns``.
    """
    if requests.rows < FEWEST:
        return 0.0
    _, asked_ns = askers(requests, events)
    before, issue = requests["complete_ns"][:-1], requests["issue_ns"][1:]
    late = issue.astype(np.float64) - before
    waited = (before > 0) & (asked_ns[1:] < before) & (late > 0) & (late < _LATEST_NS)
    if np.count_nonzero(waited) < FEWEST:
        return 0.0
    between = np.searchsorted(events["time_ns"], issue) - np.searchsorted(events["time_ns"], before)
    return max(float(np.percentile((late - each_ns * between)[waited], _SHARE)), 0.0)


def with_driver(given: FixedCost, learnt: FixedCost) -> FixedCost:
    """Return a given disk with its driver's time added, if the recording is of that disk.

    A disk's figures do not include the processor's work between issue and completion (setup, copy).
    It is the extra time of recorded requests if that is small; otherwise they were another disk's.
    """
    request = learnt.latency_ns - given.latency_ns
    kib = learnt.ns_per_kib - given.ns_per_kib
    is_little = (
        0 <= request <= MOST_ADDED * given.latency_ns and 0 <= kib <= MOST_ADDED * given.ns_per_kib
    )
    if not is_little:
        return given
    return replace(given, latency_ns=learnt.latency_ns, ns_per_kib=learnt.ns_per_kib)
