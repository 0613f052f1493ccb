"""Requests of a disk as they were observed, and how far a device model explains them.

A model is tested on groups of requests: by size, by place, by what was in flight, and by time. A
disk with a cache, seeks, whole units, parallelism or a speed that changes differs from a simple
model in one of these, even where the total agrees. Under another window the shares are others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from foreread.analyzer.ingest.tables import Array, Table
from foreread.emulator.devices.device import DeviceModel
from foreread.emulator.devices.stateful import Stateful

# A group is unexplained if its mean is off by so many parts of it, and so many standard errors.
MOST_OFF, ERRORS = 0.05, 4.0
FEWEST = 12  # requests of a group
_TAIL = 10  # times the median: a stall of the machine
_PARTS = 4  # of the requests, by the time
_LARGE_SECTORS = 64
_APART_NS = 1e12
_DRAWS = 16  # of random latencies
_WAITING = "requests issued while others are served"


@dataclass(frozen=True, eq=False)
class Observed:
    """Requests of one disk in order of issue: times in ns, places and lengths in sectors."""

    issue_ns: Array
    complete_ns: Array
    sector: Array
    sectors: Array

    @property
    def took_ns(self) -> Array:
        """Return from issue to completion."""
        return np.asarray(self.complete_ns - self.issue_ns)

    @property
    def kib(self) -> Array:
        """Return the sizes."""
        return np.asarray(self.sectors / 2)

    @property
    def in_flight(self) -> Array:
        """Return which requests were issued while another one was served."""
        before = np.append(0.0, np.maximum.accumulate(self.complete_ns)[:-1])
        return np.asarray(self.issue_ns < before)

    @property
    def follows(self) -> Array:
        """Return which requests begin where the one before ended."""
        ends = self.sector + self.sectors
        return np.append(False, self.sector[1:] == ends[:-1])

    def served_ns(self, device: DeviceModel) -> Array:
        """Return how long a device takes for the same requests at the same times.

        Of a random latency it is the mean of some draws: requests in flight together wait for the
        longest of theirs.
        """
        if isinstance(device, Stateful) and device.jitter_ns and not device.seed:
            draws = [self.served_ns(replace(device, seed=seed)) for seed in range(1, _DRAWS + 1)]
            return np.asarray(np.mean(draws, axis=0))
        queue = device.queue()
        rows = zip(self.issue_ns.tolist(), self.sector.tolist(), self.sectors.tolist(), strict=True)
        done = [queue.submit(now, int(sector), int(sectors)) for now, sector, sectors in rows]
        return np.array(done) - self.issue_ns

    def alone_ns(self, device: DeviceModel) -> Array:
        """Return how long a device takes for the same requests if none waits for another."""
        queue = device.queue()
        apart = np.arange(1, len(self.issue_ns) + 1) * _APART_NS
        rows = zip(apart.tolist(), self.sector.tolist(), self.sectors.tolist(), strict=True)
        return np.array([queue.submit(now, sector, sectors) - now for now, sector, sectors in rows])


def observed(requests: Table, each_ns: float = 0.0) -> Observed:
    """Return the completed requests (REQUESTS) of one disk; recording an issue took ``each_ns``."""
    completed = requests.take((requests["complete_ns"] > 0) & (requests["sectors"] > 0))
    order = np.argsort(completed["issue_ns"], kind="stable")
    issue = completed["issue_ns"][order].astype(np.float64)
    complete = completed["complete_ns"][order].astype(np.float64)
    begin = issue.min() if len(issue) else 0.0
    return Observed(
        np.minimum(issue + each_ns, complete) - begin,
        complete - begin,
        completed["sector"][order].astype(np.int64),
        completed["sectors"][order].astype(np.int64),
    )


@dataclass(frozen=True)
class Off:
    """A group of requests that a model does not explain: ``part`` of its mean time too short."""

    group: str
    requests: int
    part: float

    def __str__(self) -> str:
        more = "more" if self.part > 0 else "less"
        return f"{self.group} take {abs(self.part):.0%} {more} time than the others suggest"


def unexplained(requests: Observed, device: DeviceModel) -> Off | None:
    """Return the group of requests that a device explains worst; None if it explains all."""
    took = requests.took_ns
    if not len(took):
        return None
    # One by one: else a queue that grows in the model would be in all groups.
    model = requests.alone_ns(device)
    model = np.where(requests.in_flight, requests.served_ns(device), model)
    usual = took <= _TAIL * np.median(took) + model  # without stalls of the machine
    deviations = [
        off
        for name, rows in _groups(requests)
        if (off := _off(name, took[rows & usual], model[rows & usual])) is not None
    ]
    # Requests that wait show what those before them took: they are the reason only if alone.
    causes = [off for off in deviations if off.group != _WAITING] or deviations
    return max(causes, key=lambda off: abs(off.part) * np.sqrt(off.requests), default=None)


def _off(name: str, took: Array, model: Array) -> Off | None:
    if len(took) < FEWEST:
        return None
    left = took - model
    mean = float(left.mean())
    error = float(left.std(ddof=1)) / np.sqrt(len(left))
    part = mean / float(took.mean())
    sure = abs(mean) > ERRORS * error and abs(part) > MOST_OFF
    return Off(name, len(took), part) if sure else None


def _groups(requests: Observed) -> Iterator[tuple[str, Array]]:
    """Yield groups of requests that differ in what may change a disk's cost."""
    in_flight, follows = requests.in_flight, requests.follows
    alone = ~in_flight
    large = requests.sectors >= _LARGE_SECTORS
    yield "small requests with no other in flight", alone & ~large
    yield "large requests with no other in flight", alone & large
    yield "requests that begin where the last one ended", alone & follows
    yield "requests elsewhere than the last one", alone & ~follows
    yield _WAITING, in_flight
    yield from _by_distance(requests, alone & ~follows)
    rows = np.arange(len(alone)) * _PARTS // max(len(alone), 1)
    for part, name in enumerate(("first", "second", "third", "last")):
        yield f"requests of the {name} quarter of the time", alone & (rows == part)


def _by_distance(requests: Observed, chosen: Array) -> Iterator[tuple[str, Array]]:
    """Yield requests near to the last one and far from it, by the median distance."""
    ends = np.append(0, (requests.sector + requests.sectors)[:-1])
    distance = np.abs(requests.sector - ends)
    if not chosen.any():
        return
    middle = np.median(distance[chosen])
    yield "requests near to the last one", chosen & (distance <= middle)
    yield "requests far from the last one", chosen & (distance > middle)
