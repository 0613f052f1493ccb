"""What a replayer needs to begin and to open files: metadata, and the processor's time.

A replayer is a program that begins beside the start, which itself begins with an exec. It opens
each file of its list and reads the metadata that is not in memory. A capture shows what the start
read before it first used each file, when its opens began and ended, and how long its exec took.
At boot nothing of the replayer is in memory: the boot script that starts it, its program and its
list are read from the disk first.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Kind, Table
from foreread.analyzer.program.cpu import event_cost
from foreread.analyzer.program.own_names import own_names
from foreread.analyzer.program.schedule import stays

_OPENS = ("openat", "openat2", "open")
# A shell reads the boot script only as far as a boot runs it; a dynamically linked replayer is
# small, and its libraries are those of the boot.
_SCRIPT_BYTES, PROGRAM_BYTES = 16 << 10, 24 << 10
# The loader's path in programs is directly in one of these (ABI). A loader elsewhere is reached by
# a link, and a replayer, which opens it by its own path, does not read what leads to the link. That
# path is in memory once a dynamically linked process runs; at boot the last read is for it.
_LOADER, _OF_LOADERS = re.compile(r"ld[-.].*\.so.*"), ("/lib", "/lib32", "/lib64")
_LIBRARY = re.compile(r"ld[-.].*\.so.*|ld\.so\.cache|libc[-.].*so.*")


@dataclass(frozen=True)
class Opening:
    """The sectors of metadata read when a file (row) was opened; the time of opens and an exec.

    Times are the processor's, in ns; 0 where the recording does not show them. ``script_bytes`` and
    ``program_bytes`` of the boot script and of the replayer are read from the disk first, and then
    the list; 0: all are in memory. ``libraries`` are the files (rows) of the C library and its
    loader, which a dynamically linked replayer needs before. ``own_names``: the start looked these
    files up by their own names.
    """

    sectors: Mapping[int, Sequence[int]] = field(default_factory=dict)
    open_ns: float = 0.0
    exec_ns: float = 0.0
    script_bytes: int = 0
    program_bytes: int = 0
    libraries: frozenset[int] = frozenset()
    own_names: frozenset[int] = frozenset()


@dataclass(frozen=True)
class _Opens:
    """The opens of a thread, in order: when each began and ended, and whether it succeeded."""

    begun: list[int]
    ended: list[int]
    succeeded: list[bool]

    def is_of(self, read: int, when: int, used: Sequence[int], is_known: bool) -> bool:
        """Return whether a read belongs to the open of the file that was first used at ``when``.

        The thread accessed pages at the times ``used``. ``is_known``: a file of the same folder was
        used before. What is read outside an open is then of another file, such as the source that
        an interpreter looks at before it opens what it has compiled.
        """
        first, last = bisect_right(self.ended, read), bisect_right(self.ended, when)
        if first == last:
            return True  # an exec opens its files without a call
        within = self.begun[first] <= read
        if (within and not self.succeeded[first]) or (is_known and not within):
            return False
        while first < last - 1 and not self.succeeded[first]:
            first += 1
        return first == last - 1 or _has_between(used, read, self.begun[first])


def opening_of(recording: Recording, requests: Table) -> Opening:
    """Return what opening the files of a start read, and how long opens and its exec took.

    ``requests`` are the disk's; the sectors are the first ones of requests. Opens that read nothing
    count.
    """
    opens = _opens(recording)
    sectors = dict(_metadata(recording, requests, opens))
    opening = Opening(
        sectors,
        _open_ns(opens, requests),
        _exec_ns(recording),
        own_names=own_names(recording, requests, sectors),
    )
    if not _at_boot(recording):
        return opening
    return replace(
        opening,
        script_bytes=_SCRIPT_BYTES,
        program_bytes=PROGRAM_BYTES,
        libraries=_libraries(recording.paths),
    )


def _at_boot(recording: Recording) -> bool:
    return recording.capture.boot is not None


def _libraries(paths: Sequence[str | None]) -> frozenset[int]:
    """Return the files (rows) of the C library, its loader, and the loader's cache."""
    names = [PurePosixPath(path or "").name for path in paths]
    return frozenset(row for row, name in enumerate(names) if _LIBRARY.fullmatch(name))


def _opens(recording: Recording) -> dict[int, _Opens]:
    """Return the opens of each thread of a recording's application."""
    read, by_pid = recording.trace.read_fields, defaultdict(list)
    for name in _OPENS if read is not None else ():
        pair = {f"syscalls:sys_enter_{name}", f"syscalls:sys_exit_{name}"}
        if read is None or not pair <= recording.trace.event_names:
            continue
        begun, ended = (
            read(f"syscalls:sys_enter_{name}", ()),
            read(f"syscalls:sys_exit_{name}", ("ret",)),
        )
        for pid in set(ended["pid"].tolist()):
            times = np.sort(begun["time_ns"][begun["pid"] == pid].astype(np.int64))
            own = ended["pid"] == pid
            for end, result in zip(
                ended["time_ns"][own].astype(np.int64).tolist(),
                ended["ret"][own].astype(np.int64).tolist(),
                strict=True,
            ):
                at = int(np.searchsorted(times, end)) - 1
                if at >= 0:
                    by_pid[pid].append((end, int(times[at]), result >= 0))
    return {pid: _in_order(opens) for pid, opens in by_pid.items()}


def _in_order(opens: list[tuple[int, int, bool]]) -> _Opens:
    opens.sort()
    return _Opens(
        [begun for _, begun, _ in opens],
        [ended for ended, _, _ in opens],
        [succeeded for *_, succeeded in opens],
    )


def _metadata(
    recording: Recording, requests: Table, opens: Mapping[int, _Opens]
) -> Iterator[tuple[int, list[int]]]:
    """Yield each file with the sectors that belong to opening it, its own pages included.

    That is what a thread read since it first used another file, without what it read just before it
    opened something else, such as a folder that it lists, or within an open that failed.
    """
    reads, accesses = _reads(requests), recording.accesses
    first_in_folder = _first_in_folders(recording)
    at_boot = _at_boot(recording)
    for pid, uses in _first_uses(recording).items():
        own, before = reads.get(pid, []), 0
        used = np.sort(accesses["time_ns"][accesses["pid"] == pid].astype(np.int64)).tolist()
        at = opens.get(pid, _Opens([], [], []))
        for when, file in uses:
            stop = bisect_right(own, (when, np.inf))
            is_known = file not in first_in_folder
            sectors = [
                sector for read, sector in own[before:stop] if at.is_of(read, when, used, is_known)
            ]
            if _is_linked_loader(recording.paths[file]):
                sectors = sectors[-1:] if at_boot else []
            yield file, sectors
            before = stop


def _reads(requests: Table) -> dict[int, list[tuple[int, int]]]:
    """Return when each thread read something, and from which sector, in order."""
    by_pid: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for pid, when, sector in zip(
        *(requests[name].tolist() for name in ("pid", "issue_ns", "sector")), strict=True
    ):
        by_pid[pid].append((when, sector))
    return {pid: sorted(reads) for pid, reads in by_pid.items()}


def _first_uses(recording: Recording) -> dict[int, list[tuple[int, int]]]:
    """Return when each thread first used files (rows) that nobody had used before, in order."""
    accesses = recording.accesses
    file, first = np.unique(accesses["file"], return_index=True)
    by_pid: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for row, at in zip(file.tolist(), first.tolist(), strict=True):
        by_pid[int(accesses["pid"][at])].append((int(accesses["time_ns"][at]), row))
    return {pid: sorted(uses) for pid, uses in by_pid.items()}


def _is_linked_loader(path: str | None) -> bool:
    """Return whether programs reach a file as their loader, by a link."""
    place = PurePosixPath(path or "")
    return bool(_LOADER.fullmatch(place.name)) and str(place.parent) not in _OF_LOADERS


def _first_in_folders(recording: Recording) -> set[int]:
    """Return the files (rows) before which no other file of their folder was used."""
    accesses = recording.accesses
    file, at = np.unique(accesses["file"], return_index=True)
    first: dict[PurePosixPath, int] = {}
    for row in file[np.argsort(at, kind="stable")].tolist():
        path = recording.paths[row]
        first.setdefault(PurePosixPath(path).parent if path else PurePosixPath(str(row)), row)
    return set(first.values())


def _has_between(times: Sequence[int], begin: int, end: int) -> bool:
    return bisect_right(times, begin) < bisect_right(times, end)


def _open_ns(opens: Mapping[int, _Opens], requests: Table) -> float:
    """Return the median time of an open during which the disk was asked for nothing."""
    issued = np.sort(requests["issue_ns"].astype(np.int64))
    took: list[int] = []
    for of_thread in opens.values():
        begun, ended = np.array(of_thread.begun, np.int64), np.array(of_thread.ended, np.int64)
        quiet = _quiet(issued, begun, ended) & np.array(of_thread.succeeded, bool)
        took += (ended - begun)[quiet].tolist()
    return float(np.median(took)) if took else 0.0


def _exec_ns(recording: Recording) -> float:
    """Return how long an exec occupied the processor, without recording it.

    That is the command's first one; in a boot, the median of the first ones of all processes.
    """
    capture, events = recording.capture, recording.trace.events
    if capture.pid is None or capture.span_ns is None:
        return 0.0
    start_ns, end_ns = capture.span_ns
    execs = events.take((events["kind"] == Kind.EXEC) & (events["time_ns"] >= start_ns))
    pids = np.unique(execs["pid"]).tolist() if capture.boot else [capture.pid]
    on_cpu = stays(events, pids, end_ns)
    each, took = event_cost(events), []
    for pid in pids:
        ends = execs["time_ns"][execs["pid"] == pid]
        if len(ends) and pid in on_cpu:
            begin = max(start_ns, int(on_cpu[pid]["begin_ns"][0]))
            recorded = _events_of(events, pid, begin, int(ends[0]))
            took.append(max(_on_cpu_ns(on_cpu[pid], begin, int(ends[0])) - recorded * each, 0.0))
    return float(np.median(took)) if took else 0.0


def _on_cpu_ns(on_cpu: Array, begin: int, end: int) -> float:
    """Return how much of a span a thread with the stays ``on_cpu`` was on a processor."""
    span = (float(begin), float(end))
    return float((np.clip(on_cpu["end_ns"], *span) - np.clip(on_cpu["begin_ns"], *span)).sum())


def _events_of(events: Table, pid: int, begin: int, end: int) -> int:
    times = events["time_ns"][events["pid"] == pid]
    return int(np.count_nonzero((times >= begin) & (times <= end)))


def _quiet(issued: Array, begun: Array, ended: Array) -> Array:
    """Return whether no request was issued in each span."""
    quiet: Array = np.searchsorted(issued, begun) == np.searchsorted(issued, ended)
    return quiet
