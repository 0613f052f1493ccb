"""The report's table of a recorded boot: what init, and each program that it started, cost."""

from __future__ import annotations

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Kind
from foreread.analyzer.program.owners import Owners
from foreread.analyzer.report.blocks import Column, Table
from foreread.analyzer.report.subject import Subject
from foreread.analyzer.report.wording import count, seconds
from foreread.boards.base.counted import plural

MOST_PROGRAMS = 25
_S = 1e9
_FIRST = "what ran when the recording began"
ORIGINS = {
    "init": "the first process: init, generators and early services are in the capture",
    "scripts": "the first script that init runs: init and generators are not in the capture "
    "(record --boot --from init records them)",
}


def programs(subject: Subject) -> list[Table]:
    """Return the table of a recorded boot; none for a recorded command."""
    recording = subject.recording
    if recording.capture.boot is None:
        return []
    owners = Owners(recording)
    pages, waited, computed = (
        np.bincount(row, weight, len(owners.all)) for row, weight in _costs(recording, owners)
    )
    order = np.lexsort((-pages, -(waited + computed)))
    order = order[(pages + waited + computed)[order] > 0]
    has_units = any(owner.unit for owner in owners.all)
    columns = [
        Column("program", "left", share=5, is_path=True),
        *([Column("unit", "left", share=3, is_path=True)] if has_units else []),
        Column("started"),
        Column("pages accessed"),
        Column("disk"),
        Column("processor"),
    ]
    rows = []
    for row in order[:MOST_PROGRAMS].tolist():
        owner = owners.all[row]
        cells = [owner.program or _FIRST, *([owner.unit] if has_units else [])]
        cells += [count(owners.started[row]), count(int(pages[row]))]
        rows.append([*cells, seconds(waited[row] / _S), seconds(computed[row] / _S)])
    if len(rest := order[MOST_PROGRAMS:]):
        cells = [plural(len(rest), "other program"), *([""] if has_units else [])]
        cells += [count(sum(owners.started[row] for row in rest)), count(int(pages[rest].sum()))]
        rows.append([*cells, *(seconds(of[rest].sum() / _S) for of in (waited, computed))])
    return [
        Table(
            columns,
            rows,
            "What init and the programs that it started cost while they were recorded. Disk: how "
            "long their requests took, some at the same time as others. Until a process executes a "
            "program of its own, it counts for that of its parent.",
        )
    ]


def _costs(recording: Recording, owners: Owners) -> list[tuple[Array, Array]]:
    """Return the owner's row and the cost of each page, request (ns) and time computing (ns)."""
    accesses, requests = recording.accesses, recording.requests
    ended = requests.take(requests["complete_ns"] >= requests["issue_ns"])
    took = (ended["complete_ns"] - ended["issue_ns"]).astype(np.float64)
    begins, threads, ran = _on_processors(recording)
    return [
        (_owner(owners, accesses["pid"], accesses["time_ns"]), np.ones(accesses.rows)),
        (_owner(owners, ended["pid"], ended["issue_ns"]), took),
        (_owner(owners, threads, begins), ran),
    ]


def _owner(owners: Owners, threads: Array, times_ns: Array) -> Array:
    return owners.at(threads.astype(np.int64), times_ns.astype(np.int64))


def _on_processors(recording: Recording) -> tuple[Array, Array, Array]:
    """Return when each thread of the boot was given a processor, the thread, and for how long.

    A thread that executes another program begins anew.
    """
    events = recording.trace.events
    turns = events.take(np.isin(events["kind"], (Kind.SWITCH, Kind.EXEC)))
    turns = turns.take(np.lexsort((turns["time_ns"], turns["cpu"])))
    goes_on = np.where(turns["kind"] == Kind.SWITCH, turns["value"], turns["pid"])
    threads = goes_on[:-1].astype(np.int64)
    begins = turns["time_ns"].astype(np.int64)
    own = turns["cpu"][:-1] == turns["cpu"][1:]
    if recording.threads is not None:
        own &= np.isin(threads, np.fromiter(recording.threads, np.int64))
    return begins[:-1][own], threads[own], np.diff(begins)[own].astype(np.float64)
