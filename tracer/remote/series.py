"""A series of runs in one job of a target: queued ahead, made there, fetched one by one."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from foreread.tracer.remote.guarded_run import AWAIT_S, NotOverError
from foreread.tracer.remote.job import Fact, Job, facts, making_sense

REST_S = 20  # how long the target waits for the host while no run is being made
_MOST_QUEUED = 16  # at a time: a serial console takes a line of text each
_OUTPUTS = b"\noutputs "
Settings = Mapping[str, str]  # of one run: shell variables by name


@dataclass(frozen=True)
class Made:
    """A run that was made: its facts, and the beginning of reading the command's output."""

    facts: list[Fact]
    stdout: bytes
    stderr: bytes


class Series:
    """The runs of ``job``, which has its settings; raises RecordError and TargetError."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._queued: deque[str] = deque()
        self._next = 1  # number of the run that is fetched next
        self._unsent: tuple[str, ...] = ()  # number of the first of some runs, and their texts
        self._heard_s = time.monotonic()
        job.ask("start", "guard_series", step="starting the runs", within_s=AWAIT_S)

    @property
    def is_stale(self) -> bool:
        """Whether the target may have stopped waiting for this side."""
        return not self._queued and time.monotonic() - self._heard_s > REST_S / 2

    def expect(self, runs: Sequence[str]) -> bool:
        """Queue ``runs`` (shell text) after those that are queued and among them already.

        Returns False, and queues nothing, if other runs are queued. While a run is made, they are
        sent with the next :meth:`fetch`: a further command on the target would read files while the
        run looks for activity of others.
        """
        if list(self._queued) != list(runs[: len(self._queued)]):
            return False
        if len(self._queued) < min(2, len(runs)):
            more = list(runs[len(self._queued) : len(self._queued) + _MOST_QUEUED])
            words = (str(self._next + len(self._queued)), *more)
            if self._queued:
                self._unsent = words
            else:
                step = "queueing runs on the target"
                self._job.ask("queue", *words, step=step, within_s=AWAIT_S)
            self._queued += more
        return True

    def fetch(self, limit_s: float | None) -> Made:
        """Return the next queued run when it has ended.

        Raises NotOverError if it has not ended after ``limit_s`` of this machine's time.
        """
        deadline = time.monotonic() + (limit_s or float("inf"))
        while True:
            if time.monotonic() > deadline:
                raise NotOverError(f"the run did not end within {limit_s:g} s", "give it more time")
            if (run := self._asked()) is not None:
                self._queued.popleft()
                self._next += 1
                return run

    def _asked(self) -> Made | None:
        """Ask for the next run; None if it has not ended yet."""
        rest_s = str(self._job.lease_s(REST_S))
        words = ("fetch", str(self._next), str(AWAIT_S), rest_s, *self._unsent)
        self._unsent = ()
        answer = self._job.raw(*words, step="running the command", within_s=AWAIT_S).stdout
        self._heard_s = time.monotonic()
        head, has_output, rest = answer.partition(_OUTPUTS)
        answers = facts(head)
        with making_sense("its clock"):
            self._job.saw_clock(float(next(fact.value for fact in answers if fact.key == "clock")))
        if not has_output and Fact("state", "running") in answers:
            return None
        with making_sense("reading the command's output"):
            size, _, output = rest.partition(b"\n")
            return Made(answers, output[: int(size)], output[int(size) :])
