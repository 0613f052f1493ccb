"""Which program a thread ran, and in which unit of systemd: for the table of a recorded boot.

A child runs its parent's program until it executes another one (sched_process_exec), and is in its
parent's control group until it is moved (cgroup_attach_task). systemd 253 and older move the first
process of a unit; newer ones start it in its group (clone3), for which there is no event.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Kind
from foreread.analyzer.program.schedule import rows_by

EXEC, MOVE = "sched:sched_process_exec", "cgroup:cgroup_attach_task"
_UNITS = (".service", ".scope", ".mount", ".socket", ".swap")


@dataclass(frozen=True)
class Owner:
    """A program by its path, empty for one that ran when the recording began, and its unit."""

    program: str = ""
    unit: str = ""


class Owners:
    """The owners of a recording's threads, by time. ``all`` are in order of their first event."""

    def __init__(self, recording: Recording) -> None:
        self.all = [Owner()]
        self.started: list[int] = [0]  # how often each of them was executed
        self._rows = {self.all[0]: 0}
        self._times: dict[int, list[int]] = {}
        self._owners: dict[int, list[int]] = {}
        for time, thread, child, text, moved in _changes(recording):
            if child:
                self._change(child, time, self._last(thread))
            elif moved:
                self._change(thread, time, self._row(Owner(self._of(thread).program, text)))
            else:
                row = self._row(Owner(text, self._of(thread).unit))
                self.started[row] += 1
                self._change(thread, time, row)

    def at(self, threads: Array, times_ns: Array) -> Array:
        """Return the row of ``all`` for each of these threads at a time."""
        owners = np.zeros(len(threads), np.int64)
        for thread, rows in rows_by(threads).items():
            if thread in self._times:
                places = np.searchsorted(
                    np.array(self._times[thread], np.int64), times_ns[rows], side="right"
                )
                of_thread = np.array([0, *self._owners[thread]], np.int64)
                owners[rows] = of_thread[places]
        return owners

    def _row(self, owner: Owner) -> int:
        if owner not in self._rows:
            self._rows[owner] = len(self.all)
            self.all.append(owner)
            self.started.append(0)
        return self._rows[owner]

    def _last(self, thread: int) -> int:
        owners = self._owners.get(thread)
        return owners[-1] if owners else 0

    def _of(self, thread: int) -> Owner:
        return self.all[self._last(thread)]

    def _change(self, thread: int, time: int, owner: int) -> None:
        self._times.setdefault(thread, []).append(time)
        self._owners.setdefault(thread, []).append(owner)


def _changes(recording: Recording) -> list[tuple[int, int, int, str, bool]]:
    """Return time, thread, child (0: none), text, and whether that is a unit, in order of time."""
    events = recording.trace.events
    forks = events.take(events["kind"] == Kind.FORK)
    columns = (forks[name].tolist() for name in ("time_ns", "pid", "value"))
    changes = [(t, p, c, "", False) for t, p, c in zip(*columns, strict=True)]
    for name, thread, field in ((EXEC, "pid", "filename"), (MOVE, "pid", "dst_path")):
        if recording.trace.read_fields is None or name not in recording.trace.event_names:
            continue
        fields = recording.trace.read_fields(name, (thread, field))
        rows = zip(*(fields[key].tolist() for key in ("time_ns", thread, field)), strict=True)
        for time, pid, raw in rows:
            text = bytes(raw).decode(errors="surrogateescape")
            text = _unit(text) if name == MOVE else text
            changes.append((time, pid, 0, text, name == MOVE))
    return sorted(changes, key=lambda change: change[0])


def _unit(group: str) -> str:
    """Return the unit in the path of a control group, empty without one."""
    names = [name for name in group.split("/") if name.endswith(_UNITS)]
    return names[-1] if names else ""
