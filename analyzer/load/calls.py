"""How a program asks: the order and size of its calls, and the time between them.

All functions take requests of one program (REQUEST), by the time they were asked for.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.load.client import Client
from foreread.analyzer.load.programs import busy_periods
from foreread.emulator.linux.requests import SECTOR

_NEAR = 2048  # sectors: a file goes on after its own metadata, and after a hole
_IN_ORDER = 0.5  # of the requests follow the one before
_PARTS = 8  # requests of the bios that are in flight together
_APART = 4.0  # times as long are the gaps between two syncs, at least, as those within one
_AFTER_AN_END = 0.1  # of the requests: fewer are asked for while another one is in flight
_TOGETHER_NS = 1_000_000  # bios of one call of readahead
_LEAST_GAPS = 20  # to see whether a client waits for its requests
_FOLLOWS = -0.5  # slope of think time by service time: 0 in a closed loop, -1 if a timer asks


def is_in_order(data: Array) -> bool:
    """Return whether most requests begin where one of the last ended, or a little later.

    The parts of a large bio, and those of the next, are issued in turn.
    """
    if len(data) < 2:
        return True
    begin, end = data["sector"], data["sector"] + data["sectors"]
    follows = np.zeros(len(data), bool)
    for back in range(1, min(_PARTS, len(data) - 1) + 1):
        step = begin[back:] - end[:-back]
        follows[back:] |= (step >= 0) & (step <= _NEAR)
    return bool(follows[1:].mean() >= _IN_ORDER)


def calls_of(data: Array) -> tuple[int, int, float]:
    """Return bytes, requests in flight and think time (ns) of a client's calls.

    A call that the kernel splits asks for several requests at once, and waits for all of them.
    """
    begins, ends = busy_periods(data)
    period = np.searchsorted(begins, data["asked_ns"], side="right") - 1
    each = np.bincount(period, data["sectors"].astype(np.float64), len(begins)) * SECTOR
    gaps = begins[1:] - ends[:-1]
    think_ns = float(gaps.mean()) if len(gaps) else 0.0
    first_end = np.full(len(begins), np.iinfo(np.int64).max)
    np.minimum.at(first_end, period, data["done_ns"])
    later = data["asked_ns"] > first_end[period]
    if later.mean() < _AFTER_AN_END:
        return int(np.median(each)), 1, think_ns
    size = int(np.median(data["sectors"])) * SECTOR
    flying = np.searchsorted(np.sort(data["done_ns"]), data["asked_ns"], side="right")
    depth = max(int(np.median(np.arange(1, len(data) + 1) - flying)), 1)
    ends_in_order = np.sort(data["done_ns"])
    after = data["asked_ns"][depth:] - ends_in_order[: len(data) - depth]
    return size, depth, float(np.maximum(after, 0).mean()) if len(after) else 0.0


def gaps_until(data: Array) -> Callable[[Array], Array]:
    """Return a function of time: how long no request was in flight until then (ns)."""
    begins, ends = busy_periods(data)
    edges = np.column_stack((begins, ends)).ravel()
    gaps = np.concatenate(([0], begins[1:] - ends[:-1]))
    total = np.repeat(np.cumsum(gaps), 2).astype(np.float64)
    first = edges[0]
    return lambda times: np.interp(times - first, edges - first, total)


def run_bytes(data: Array) -> int:
    """Return the bytes of a usual run of requests that were asked for together, in order."""
    step = data["sector"][1:] - (data["sector"] + data["sectors"])[:-1]
    later = data["asked_ns"][1:] - data["asked_ns"][:-1] > _TOGETHER_NS
    run = np.concatenate(([0], np.cumsum(later | (step != 0))))
    each = np.bincount(run, data["sectors"].astype(np.float64)) * SECTOR
    order = np.argsort(each)
    half = np.searchsorted(np.cumsum(each[order]), each.sum() / 2)
    return int(each[order[min(half, len(order) - 1)]])


def writer_of(data: Array) -> Client:
    """Return a client that writes: call by call, or through the cache, until it syncs the file.

    A sync waits for several requests, one after another, with little between them.
    """
    size, outstanding, think_ns = calls_of(data)
    largest = int(data["sectors"].max()) * SECTOR
    in_order = is_in_order(data)
    if outstanding == 1 and size <= largest:
        return Client(write=True, in_order=in_order, size=size, think_ns=think_ns)
    begins, ends = busy_periods(data)
    between = _long_gaps((begins[1:] - ends[:-1]).astype(np.float64))
    return Client(
        write=True,
        in_order=in_order,
        cached=True,
        size=largest,
        think_ns=float(between.mean()) if len(between) else 0.0,
        burst_bytes=int(data["sectors"].sum()) * SECTOR // (len(between) + 1),
    )


def _long_gaps(gaps: Array) -> Array:
    """Return the gaps between two syncs: the longer of two kinds, or all if they are of one.

    The two kinds differ most in the logarithm (Otsu 1979, equation 14).
    """
    if len(gaps) < 2:
        return gaps
    logs = np.sort(np.log(np.maximum(gaps, 1.0)))
    below = np.arange(1, len(logs))
    low = np.cumsum(logs)[:-1] / below
    high = (logs.sum() - np.cumsum(logs)[:-1]) / (len(logs) - below)
    split = int(np.argmax(below * (len(logs) - below) * (high - low) ** 2))
    if np.exp(high[split] - low[split]) < _APART:
        return gaps
    return np.asarray(gaps[gaps > np.exp((logs[split] + logs[split + 1]) / 2)])


def asks_at_own_times(data: Array) -> bool:
    """Return whether the next call does not follow the end of the last: an open loop.

    A program that waits thinks as long after a slow request as after a fast one. Where a timer or
    another machine asks, a slow request leaves less time until the next.
    """
    begins, ends = busy_periods(data)
    service, gap = (ends - begins)[:-1].astype(np.float64), (begins[1:] - ends[:-1]).astype(float)
    if len(gap) < _LEAST_GAPS or not service.std() or not gap.std():
        return False
    slope = float(np.cov(service, gap)[0, 1] / service.var(ddof=1))
    return slope <= _FOLLOWS and abs(float(np.corrcoef(service, gap)[0, 1])) >= -_FOLLOWS
