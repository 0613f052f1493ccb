"""A recording as the steps of its threads: computing, sleeps, reads, and waits for other threads.

Time on a processor is computing. Time in which a thread could have run, but others did, is not
counted, and the replay determines the waits for the disk. docs/explanation/replay.md has the rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Rwbs, Table, order_by
from foreread.analyzer.program.cpu import event_cost
from foreread.analyzer.program.event_owners import ThreadEvents, askers
from foreread.analyzer.program.frame import Frame, frame_of
from foreread.analyzer.program.off_cpu import (
    Reads,
    Why,
    off_cpu_intervals,
    usual_check,
    usual_latency,
)
from foreread.analyzer.program.other_work import OtherWork
from foreread.analyzer.program.schedule import among, rows_by, stays
from foreread.analyzer.program.spared_faults import SparedFaults
from foreread.analyzer.program.steps import Steps, steps_of, without_recording
from foreread.analyzer.program.waits import (
    demands_by_thread,
    ended_by_timer,
    joins,
    nanosleeps,
    without_idle,
)
from foreread.emulator.linux.operations import Program
from foreread.emulator.linux.steps import STEP

_NONE = -1
_NO_TIMES = np.zeros(0, np.uint64)
_NO_ROWS = np.zeros(0, np.int64)
_MOST_THREADS = (1 << 16) - 2  # and two for reads without a waiting thread
# A moment of a thread that becomes a step: its operation or request, if any; and what preceded it:
# a sleep, which the action of thread ``alarm`` at ``alarm_ns`` would have ended, or what thread
# ``waker`` did at ``woken_ns``.
_MOMENT = np.dtype(
    [
        ("time_ns", "u8"),
        ("operation", "i8"),
        ("request", "i8"),
        ("waker", "i4"),
        ("woken_ns", "u8"),
        ("alarm", "i4"),
        ("alarm_ns", "u8"),
        ("sleep_ns", "f8"),
        ("cpu_ns", "f8"),
        ("thread", "u2"),
    ]
)


@dataclass
class _Life:
    """The moments of one thread."""

    parts: list[Array] = field(default_factory=list)

    def add(self, time_ns: Array, **columns: object) -> None:
        """Add moments; missing columns are empty."""
        moments = np.zeros(len(time_ns), _MOMENT)
        moments["time_ns"] = time_ns
        for name in ("operation", "request", "waker", "alarm"):
            moments[name] = columns.pop(name, _NONE)
        for name, column in columns.items():
            moments[name] = column
        self.parts.append(moments)

    def moments(self) -> Array:
        """Return the moments in order."""
        moments = np.concatenate(self.parts)
        return moments[order_by(moments["time_ns"])]


def steps_in_time(
    recording: Recording, program: Program, times: Array, requests: Table, own: Array
) -> Steps:
    """Return the operations of a program, and the requests that are not its ``own``, in time.

    ``times``: of the operations; ``requests`` are the disk's, in order of issue. By thread
    if the recording has scheduler events, otherwise as one sequence.
    """
    frame, events = frame_of(recording), recording.trace.events
    span = (frame.start_ns, frame.end_ns)
    if recording.capture.span_ns is None:  # else they are the run's alone
        events = events.take((events["time_ns"] >= span[0]) & (events["time_ns"] <= span[1]))
        recording = replace(recording, trace=replace(recording.trace, events=events))
    by_thread = stays(events, frame.threads, frame.end_ns)
    roots = [root for root in frame.roots if root in by_thread]
    if roots and len(by_thread) <= _MOST_THREADS:
        first = min(roots, key=lambda root: int(by_thread[root]["begin_ns"][0]))
        return _Threads(recording, frame, by_thread, first, requests).steps(times, own)
    in_one = steps_of(program, times, requests, own, *span)
    return without_recording(in_one, events, *span)


class _Threads:
    """The threads of a recording on their way to steps."""

    def __init__(
        self,
        recording: Recording,
        frame: Frame,
        by_thread: dict[int, Array],
        first: int,
        requests: Table,
    ) -> None:
        """Take the stays of each thread; the run begins with process ``first``."""
        self.recording, self.frame = recording, frame
        self.stays, self.requests, self.first = by_thread, requests, first
        latest = max(by_thread, key=lambda thread: int(by_thread[thread]["end_ns"][-1]))
        self.last = latest if frame.ends_with is None else frame.ends_with  # ends the run
        self.asked_by, self.asked_ns = askers(requests, recording.trace.events)
        self.thread_events = ThreadEvents(recording)
        self.each_ns = event_cost(recording.trace.events)
        self.spared = SparedFaults(recording.trace, recording.page_size, self.each_ns)
        self.slept_ns = nanosleeps(recording)
        self.number = {thread: row for row, thread in enumerate(by_thread)}
        self.lives = {thread: _Life() for thread in by_thread}
        self.reads = requests.take((requests["flags"] & Rwbs.READ) > 0)
        self.reads_of = rows_by(self.reads["pid"])
        start = frame.start_ns
        self.others = OtherWork(recording.trace.events, set(by_thread), self.each_ns)
        self.threads = np.array([*by_thread], np.int64)  # rising, as the numbers are
        reads = Reads(self.reads)
        self.offs = {
            thread: off_cpu_intervals(thread, rows, start, self.threads, reads, self.others)
            for thread, rows in by_thread.items()
        }
        self.demands = demands_by_thread(self.offs)

    def steps(self, times: Array, own: Array) -> Steps:
        """Return the steps of all threads in order of time."""
        clipped = np.clip(times, self.frame.start_ns, self.frame.end_ns)
        owners = self.thread_events.of(times, self.first, self.number)
        done, requested = rows_by(owners), rows_by(self.asked_by)
        did = {
            thread: np.concatenate(
                (
                    clipped[done.get(thread, _NO_ROWS)],
                    self.asked_ns[requested.get(thread, _NO_ROWS)],
                )
            )
            for thread in self.lives
        }
        self.offs = without_idle(self.offs, did, self.last)
        for thread, life in self.lives.items():
            rows = done.get(thread, _NO_ROWS)
            life.add(clipped[rows], operation=rows)
            self._waits(thread, life)
            life.add(self.stays[thread]["end_ns"][-1:])
        for thread, at_ns, ended in joins(self.stays, self.offs, self.recording, self.last):
            # The wait itself is reported at the first of these moments.
            self.lives[thread].add(np.array([at_ns], np.uint64))
            self.lives[thread].add(
                np.full(len(ended), at_ns, np.uint64),
                waker=np.array(ended),
                woken_ns=np.array([self.stays[child]["end_ns"][-1] for child in ended]),
            )
        unawaited = [*self._other_reads(own, clipped, owners)]
        usual = usual_latency(self.offs.values())
        by_thread = [self._timed(thread, life, usual) for thread, life in self.lives.items()]
        by_thread += self._readers(unawaited)
        moments = np.concatenate(by_thread)
        moments = moments[order_by(moments["time_ns"])]
        ends = self.number[self.last]
        total = float(self.frame.end_ns - self.frame.start_ns)
        steps = self._as_steps(moments)
        tail = self._tail_ns()
        return Steps(
            steps,
            tail,
            total,
            self.frame.cpus,
            ends,
            by_thread=True,
            back_ns=usual,
            checked_ns=usual_check(self.offs.values()),
            strangers=len(self.lives) + 1,
            unlinked_ns=self._unlinked_ns(),
            threads=tuple(self.threads.tolist()),
        )

    def _unlinked_ns(self) -> float:
        """Return the latest start of a thread with an unknown parent."""
        late = [0.0]
        for thread, off in self.offs.items():
            if thread not in self.frame.roots and off.why[0] != Why.THREAD:
                late.append(float(off.came_ns[0]) - self.frame.start_ns)
        return max(late)

    def _tail_ns(self) -> float:
        """Return the time from the command's end until its waiter had noticed it.

        It is part of the duration of a run. A run that ends otherwise does not wait for a thread.
        """
        if self.frame.ends_with is None:
            return 0.0
        last = self.stays[self.frame.ends_with][-1:]
        end = np.array([self.frame.end_ns], np.uint64)
        took = float(end[0]) - float(last["end_ns"][0])
        return max(took - float(self.others.recording(last["cpu"], last["end_ns"], end)[0]), 0.0)

    def _waits(self, thread: int, life: _Life) -> None:
        """Add the moments at which a thread goes to sleep, and those at which it wakes others."""
        off = self.offs[thread]
        apart = np.isin(off.why, (Why.SLEEP, Why.THREAD))
        life.add(off.left_ns[apart & off.was_running])
        by_thread = off.why == Why.THREAD
        for waker in np.unique(off.waker[by_thread]).tolist():
            self.lives[waker].add(off.woken_ns[by_thread & (off.waker == waker)])

    def _other_reads(self, own: Array, times: Array, owners: Array) -> Iterator[int]:
        """Add reads that are not operations to the threads that waited; yield the others."""
        rows = np.flatnonzero(~own & ((self.requests["flags"] & Rwbs.READ) > 0))
        pids, issued = self.asked_by[rows], self.asked_ns[rows]
        requested, done = rows_by(pids), rows_by(owners)
        for thread, life in self.lives.items():
            of_thread = requested.get(thread, _NO_ROWS)
            theirs, at = rows[of_thread], issued[of_thread]
            did = np.sort(times[done.get(thread, _NO_ROWS)])
            did = np.append(did, np.iinfo(np.uint64).max)
            off = self.offs[thread]
            blocked = np.append(off.left_ns[off.why == Why.DISK], np.iinfo(np.uint64).max)
            waited = blocked[np.searchsorted(blocked, at)] <= did[np.searchsorted(did, at)]
            life.add(at[waited], request=theirs[waited])
            life.add(at[~waited])  # the beginning of the read
            yield from theirs[~waited].tolist()
        yield from rows[~among(pids, self.threads)].tolist()

    def _timed(self, thread: int, life: _Life, usual: float) -> Array:
        """Return a thread's moments with its computing and waits before each."""
        off, moments = self.offs[thread], life.moments()
        moments["thread"] = self.number[thread]
        did = moments["time_ns"][moments["operation"] >= 0]
        issued = self.reads["issue_ns"][self.reads_of.get(thread, _NO_ROWS)]
        computed = off.computed(self.stays[thread], did, issued, usual)
        before = np.concatenate(([0.0], computed(moments["time_ns"])))
        spent = np.concatenate(([0], self.thread_events.before(thread, moments["time_ns"])))
        spared = np.concatenate(([0], self.spared.before(thread, moments["time_ns"])))
        others = np.diff(spent) * self.each_ns + np.diff(spared) * self.spared.each_ns
        moments["cpu_ns"] = np.maximum(np.diff(before) - others, 0.0)
        following = np.searchsorted(moments["time_ns"], off.came_ns)
        for why in (Why.SLEEP, Why.THREAD):
            rows = np.flatnonzero((off.why == why) & (following < len(moments)))
            if why == Why.SLEEP:
                moments["sleep_ns"][following[rows]] = (off.ready_ns - off.left_ns)[rows]
                rows = rows[ended_by_timer(off, self.slept_ns.get(thread, _NO_TIMES))[rows]]
                at_ns, by = self.demands[thread].after(off.ready_ns[rows])
                moments["alarm"][following[rows]] = by
                moments["alarm_ns"][following[rows]] = at_ns
            else:
                moments["waker"][following[rows]] = off.waker[rows]
                moments["woken_ns"][following[rows]] = off.woken_ns[rows]
        return moments

    def _readers(self, rows: list[int]) -> Iterator[Array]:
        """Return two threads for the reads that no thread waited for.

        The first has the reads of the command's threads, the second the reads of other processes.
        """
        unawaited = np.array(sorted(rows), np.int64)
        theirs = among(self.asked_by[unawaited], self.threads)
        issue, complete = self.requests["issue_ns"], self.requests["complete_ns"]
        for row, chosen in enumerate((unawaited[theirs], unawaited[~theirs])):
            life = _Life()
            life.add(issue[chosen], request=chosen)
            moments = life.moments()
            moments["thread"] = len(self.lives) + row
            if row == 0:
                moments["time_ns"] = moments["woken_ns"] = self.asked_ns[chosen]
                moments["waker"] = self.asked_by[chosen]
            else:
                done = np.maximum(complete, issue)[chosen]  # 0 if unknown
                done = np.concatenate(([self.frame.start_ns], done[:-1]))
                moments["sleep_ns"] = np.maximum(issue[chosen].astype(float) - done, 0.0)
            yield moments

    def _as_steps(self, moments: Array) -> Array:
        """Return STEP rows of moments in order of time."""
        steps = np.zeros(len(moments), STEP)
        for name in ("cpu_ns", "sleep_ns", "operation", "thread"):
            steps[name] = moments[name]
        waits_for = self._rows_of(moments, "waker", "woken_ns")
        steps["waits_for"] = np.where(waits_for < np.arange(len(moments)), waits_for, _NONE)
        steps["woken_by"] = self._rows_of(moments, "alarm", "alarm_ns")
        reads = np.flatnonzero(moments["request"] >= 0)
        chosen = self.requests.take(moments["request"][reads])
        steps["sector"][reads], steps["sectors"][reads] = chosen["sector"], chosen["sectors"]
        steps["bios"][reads] = chosen["bios"]
        steps["meta"][reads] = (chosen["flags"] & Rwbs.META) > 0
        return steps

    def _rows_of(self, moments: Array, who: str, when: str) -> Array:
        """Return rows of the moments of threads (column ``who``) at the times ``when``, or -1."""
        wait = np.flatnonzero(moments[who] >= 0)
        doer = np.searchsorted(self.threads, moments[who][wait])
        thread = np.concatenate((moments["thread"].astype(np.int64), doer))
        time = np.concatenate((moments["time_ns"], moments[when][wait]))
        is_wait = np.arange(len(thread)) >= len(moments)
        order = order_by(thread, time, is_wait)
        latest = np.maximum.accumulate(np.where(is_wait[order], _NONE, np.arange(len(order))))
        source = order[np.maximum(latest, 0)]
        has_row = is_wait[order] & (latest >= 0)
        has_row &= (thread[source] == thread[order]) & (time[source] == time[order])
        row_of = np.full(len(moments), _NONE, np.int64)
        row_of[wait[order[has_row] - len(moments)]] = source[has_row]
        return row_of
