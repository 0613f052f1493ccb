"""A recording as steps in time: computing, reads, and the processor's cost of reads.

The run is one sequence: concurrent work of several threads is replayed as that of one. Time while
the disk served a request does not count as computing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foreread.analyzer.ingest.inserts import in_block_devices
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Rwbs, Table, order_by
from foreread.analyzer.program.cpu import event_cost
from foreread.emulator.linux.operations import Program
from foreread.emulator.linux.steps import STEP
from foreread.tracer.formats.capture import dev_of

_SECTOR = 512


@dataclass(frozen=True, eq=False)
class Steps:
    """``steps`` (STEP), ``tail_ns`` after the last, and the duration of the run (ns).

    ``cpus`` is the number of processors that the threads ran on; with thread ``ends`` the run was
    over (-1: with all). ``by_thread``: each thread has its own steps; otherwise all are one
    sequence. ``back_ns``: computing time after each wait, for coming back to a processor;
    ``checked_ns`` of it kernel workers checked or decrypted the page that was read.
    ``strangers`` is the thread with the reads of other processes (-1: none has).
    ``unlinked_ns`` is the latest start of a thread with an unknown parent, from the start of the
    run; 0 if there is none. ``threads`` are the thread ids by thread (empty if not by thread).
    """

    steps: Array
    tail_ns: float
    total_ns: float
    cpus: int = 1
    ends: int = -1
    by_thread: bool = False
    back_ns: float = 0.0
    checked_ns: float = 0.0
    strangers: int = -1
    unlinked_ns: float = 0.0
    threads: tuple[int, ...] = ()


class Busy:
    """When a disk was serving requests."""

    def __init__(self, requests: Table) -> None:
        issue, complete = requests["issue_ns"], requests["complete_ns"]
        served = complete > issue
        begin, end = issue[served].astype(np.float64), complete[served].astype(np.float64)
        before = np.concatenate(([0.0], np.maximum.accumulate(end)))[:-1]
        self._begin = np.maximum(begin, before)
        self._end = np.maximum(end, self._begin)
        self._sum = np.concatenate(([0.0], np.cumsum(self._end - self._begin)))

    def computed(self, time: Array) -> Array:
        """Return how much of the time up to each moment the disk did not serve."""
        at = time.astype(np.float64)
        if not len(self._end):
            return at
        row = np.searchsorted(self._begin, at, side="right")
        last = np.maximum(row - 1, 0)
        under_way = np.where(row > 0, np.maximum(self._end[last] - at, 0.0), 0.0)
        return np.asarray(at - (self._sum[row] - under_way))


def steps_of(
    program: Program, times: Array, requests: Table, own: Array, start_ns: int, end_ns: int
) -> Steps:
    """Return the operations of a program, and the requests that are not its ``own``, in time.

    ``times``: of the operations; ``requests`` are the disk's, in order of issue.
    """
    within = (requests["issue_ns"] >= start_ns) & (requests["issue_ns"] < end_ns)
    others = requests.take(within & ~own & ((requests["flags"] & Rwbs.READ) > 0))
    steps = np.zeros(len(times) + others.rows, STEP)
    steps["operation"][: len(times)] = np.arange(len(times))
    steps["operation"][len(times) :] = -1
    steps["sector"][len(times) :] = others["sector"]
    steps["sectors"][len(times) :] = others["sectors"]
    steps["waits_for"] = steps["woken_by"] = -1
    steps["bios"][len(times) :] = others["bios"]
    steps["meta"][len(times) :] = (others["flags"] & Rwbs.META) > 0
    when = np.concatenate((times, others["issue_ns"])).astype(np.uint64)
    when = np.clip(when, start_ns, end_ns)
    order = order_by(when)
    edges = np.concatenate(([start_ns], when[order], [end_ns])).astype(np.uint64)
    gaps = np.diff(Busy(requests.take(within)).computed(edges))
    steps = steps[order]
    steps["cpu_ns"] = gaps[:-1]
    return Steps(steps, float(gaps[-1]), float(end_ns - start_ns))


def own_requests(recording: Recording, requests: Table) -> Array:
    """Return a mask of the reads of file data by the application's threads.

    The others are metadata, which ext4 reads ahead without the flag into pages of the block device,
    and reads of other applications' threads.
    """
    own = (requests["flags"] & (Rwbs.READ | Rwbs.META)) == Rwbs.READ
    inserts = recording.inserts
    if inserts is None:
        return np.asarray(own)
    first_sectors = {mount.first_sector for mount in recording.capture.mounts}
    places = (requests["dev"], requests["sector"], inserts.metadata, recording.page_size)
    beside = in_block_devices(*places, first_sectors, recording.devices)
    if beside.any():  # with blocks below the page size files share pages of the block device
        own &= ~beside | _in_files(recording, requests)
    nodes = inserts.nodes
    for dev in np.unique(nodes["dev"]).tolist():
        of_node = np.isin(requests["sector"], nodes["index"][nodes["dev"] == dev])
        own &= ~(of_node & (requests["dev"] == recording.devices.get(dev, dev)))
    if recording.threads is not None:
        theirs = np.setdiff1d(inserts.data["pid"], np.array([*recording.threads], np.int32))
        own &= ~np.isin(requests["pid"], theirs)
    return np.asarray(own)


def _in_files(recording: Recording, requests: Table) -> Array:
    """Return a mask of the requests that begin within a known extent of a file."""
    mounts = recording.capture.mounts
    first_sector = {dev_of(mount.dev): mount.first_sector for mount in mounts}
    spans: dict[int, list[tuple[int, int]]] = {}
    for entry in filter(None, recording.entries):
        dev = dev_of(entry.dev)
        begins = [
            (first_sector.get(dev, 0) + extent.physical // _SECTOR, extent.length // _SECTOR)
            for extent in entry.extents or ()
            if extent.written
        ]
        spans.setdefault(recording.devices.get(dev, dev), []).extend(begins)
    in_files = np.zeros(requests.rows, bool)
    for disk, parts in spans.items():
        if parts:
            begin, sectors = np.array(sorted(parts), np.int64).T
            at = requests["sector"].astype(np.int64)
            row = np.maximum(np.searchsorted(begin, at, side="right") - 1, 0)
            within = (at >= begin[row]) & (at < begin[row] + sectors[row])
            in_files |= within & (requests["dev"] == disk)
    return in_files


def without_recording(steps: Steps, events: Table, start_ns: int, end_ns: int) -> Steps:
    """Return the steps without the cost of recording the run's events."""
    within = (events["time_ns"] >= start_ns) & (events["time_ns"] < end_ns)
    chosen = events.take(within)
    gaps = steps.steps["cpu_ns"]
    computed = float(gaps.sum()) + steps.tail_ns
    spent = min(chosen.rows * event_cost(chosen), computed)
    share = 1 - spent / computed if computed else 1.0
    kept = steps.steps.copy()
    kept["cpu_ns"] = gaps * share
    return Steps(kept, steps.tail_ns * share, steps.total_ns - spent)
