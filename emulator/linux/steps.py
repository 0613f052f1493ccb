"""The input and the result of a timed replay."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from foreread.emulator.fixed import EmulationError
from foreread.emulator.linux.operations import ADVICE, Machine, Op, Program
from foreread.emulator.linux.requests import Layout, Limits
from foreread.emulator.linux.rules import Rules
from foreread.emulator.linux.windows import tables

LONGEST_NS = 1e14  # upper bound of any duration passed in (about 28 h)
MOST_CPUS = 1 << 16
MOST_BIOS = 1 << 20
META, ONCE, AHEAD, UNLIMITED, WRITE = 1, 2, 4, 8, 16  # of a step's ``meta``
# Of repeated steps: rounds in all, the least computing of a round, the longest stride, and places.
MOST_ROUNDS, LEAST_ROUND_NS, MOST_STRIDE, MOST_AT = 1 << 24, 1000, 1 << 22, 1 << 46
# One thing that a thread does. Before it the thread sleeps for sleep_ns or until step woken_by (any
# row, or -1) has ended, waits until step waits_for (an earlier row, or -1) has ended, and computes
# for cpu_ns. operation: row of the program; -1: a read of ``sectors`` from ``sector`` on, in
# ``bios``, of metadata (``meta``) or not, that is as it was, whatever the window (metadata, other
# processes), and is waited for, unless it is read AHEAD; of 0 sectors: nothing is done. A read ONCE
# that lies within an earlier one ONCE is not made: it waits for that one. No limiter holds the
# requests of a step that is UNLIMITED; a step that is a WRITE counts among Limits.nr_writes. With
# little memory the program itself has own_pages of Machine.cache_pages from this step on (0: as
# many as before).
STEP = np.dtype(
    [
        ("cpu_ns", "f8"),
        ("sleep_ns", "f8"),
        ("operation", "i8"),
        ("waits_for", "i8"),
        ("woken_by", "i8"),
        ("sector", "u8"),
        ("sectors", "u4"),
        ("bios", "u4"),
        ("thread", "u2"),
        ("meta", "u1"),
        ("own_pages", "u4"),
    ],
    align=True,
)

# A thread of a load: it repeats its steps from ``from_ns`` to ``until_ns`` (from the beginning of
# the other threads, with which the run's times count; it ends with them). In each round its reads
# are further by ``stride``; or, if its reads fit into ``span``, at a random place of that. Both are
# bytes for operations, and sectors for other reads. Its computing contains the cost of reading.
REPEAT = np.dtype(
    [
        ("from_ns", "f8"),
        ("until_ns", "f8"),
        ("stride", "u8"),
        ("span", "u8"),
        ("thread", "u2"),
    ],
    align=True,
)


@dataclass(frozen=True)
class CpuCost:
    """The processor's cost of reading: per request, page of it, and sector of compressed blocks.

    After a wait for the device the processor's caches are cold: the next ``cold_ns`` of computing
    (as long as they take with warm caches) take longer by the share ``cold_share``.
    """

    request_ns: float = 0.0
    page_ns: float = 0.0
    sector_ns: float = 0.0
    cold_ns: float = 0.0
    cold_share: float = 0.0

    @property
    def numbers(self) -> tuple[float, ...]:
        """The fields in their order."""
        return (self.request_ns, self.page_ns, self.sector_ns, self.cold_ns, self.cold_share)

    def describe(self) -> str:
        """Return it in words."""
        words = (
            f"{self.request_ns / 1000:.0f} µs per request and {self.page_ns / 1000:.1f} µs per page"
        )
        if self.sector_ns:
            words += f", {2 * self.sector_ns / 1000:.1f} µs per compressed KiB"
        if self.cold_share:
            words += f"; after a wait the first {self.cold_ns / 1000:.0f} µs of computing take "
            words += f"{self.cold_share:.0%} longer"
        return words


@dataclass(frozen=True, eq=False)
class Run:
    """The steps to replay: ``steps`` (STEP) in the order recorded, of threads on ``cpus``.

    The run ends with thread ``ends`` (-1: with all). ``tail_ns`` is the computing time of that
    thread (-1: that of the last step) after its last step. ``repeats`` (REPEAT) are the threads of
    loads, whose steps follow all others: they are not counted in ends and last steps.
    """

    program: Program
    steps: npt.NDArray[np.void]
    tail_ns: float
    rules: Rules
    machine: Machine
    limits: Limits
    layout: Layout
    cpus: int = 1
    ends: int = -1
    repeats: npt.NDArray[np.void] = field(default_factory=lambda: np.zeros(0, REPEAT))

    @cached_property
    def tables(self) -> list[npt.NDArray[Any]]:
        """The arrays that the core replays, checked: the same for all windows and devices.

        Raises EmulationError as ``check``, and for arrays of another kind.
        """
        self.check()
        core = tables(self.program, self.rules, self.machine, self.limits, self.layout.extents)
        return [*core, np.ascontiguousarray(self.steps), np.ascontiguousarray(self.repeats)]

    @cached_property
    def own_steps(self) -> int:
        """The number of steps without those of loads."""
        repeated = np.isin(self.steps["thread"], self.repeats["thread"])
        return len(repeated) - int(np.argmin(repeated[::-1])) if not repeated.all() else 0

    @cached_property
    def lead_ns(self) -> float:
        """How long before the others the first thread of a load begins."""
        return max(-float(self.repeats["from_ns"].min(initial=0.0)), 0.0)

    def check(self) -> None:
        """Raise EmulationError for steps that no run can have."""
        steps, rows = self.steps, np.arange(len(self.steps))
        if steps.dtype != STEP or steps.ndim != 1:
            raise EmulationError("steps: expected a one-dimensional array of STEP", "pass one")
        times = np.abs(np.concatenate((steps["cpu_ns"], steps["sleep_ns"], [self.tail_ns])))
        # Not so as to let NaN pass.
        if not times.sum() <= LONGEST_NS or (steps["sleep_ns"] < 0).any():
            raise _damaged("the duration of a step is out of range")
        if ((steps["waits_for"] < -1) | (steps["waits_for"] >= rows)).any():
            raise _damaged("a step waits for a step that is not before it")
        if ((steps["woken_by"] < -1) | (steps["woken_by"] >= len(steps))).any():
            raise _damaged("a step is woken by a step that does not exist")
        if (steps["bios"] > MOST_BIOS).any():
            raise _damaged("a request has too many bios")
        operations = len(self.program.operations)
        if ((steps["operation"] < -1) | (steps["operation"] >= operations)).any():
            raise _damaged("a step refers to an operation that does not exist")
        if not 1 <= self.cpus <= MOST_CPUS:
            raise _damaged(f"a run on {self.cpus} CPUs")
        if self.ends != -1 and self.ends not in steps["thread"]:
            raise _damaged(f"no step is of thread {self.ends}, with which the run ends")
        if self.repeats.dtype != REPEAT or self.repeats.ndim != 1:
            raise EmulationError("repeats: expected a one-dimensional array of REPEAT", "pass one")
        if len(self.repeats):
            self._check_repeats()

    def _check_repeats(self) -> None:
        """Raise EmulationError for loads that cannot be."""
        own, threads = self.steps[: self.own_steps], self.repeats["thread"]
        sound = len(own) and len(np.unique(threads)) == len(threads) and self.ends not in threads
        if not sound or np.isin(own["thread"], threads).any():
            raise _damaged("the steps of a load are not the last ones")
        if (own["woken_by"] >= len(own)).any():
            raise _damaged("a step is woken by a load")
        for row in self.repeats:
            self._check_repeat(row)

    def _check_repeat(self, repeat: np.void) -> None:
        steps = self.steps[self.steps["thread"] == repeat["thread"]]
        done = steps["operation"][steps["operation"] >= 0]
        op, at = self.program.operations["op"][done], self.program.operations["at"][done]
        begins = abs(repeat["from_ns"]) <= LONGEST_NS and repeat["until_ns"] > repeat["from_ns"]
        places = repeat["stride"] <= MOST_STRIDE and repeat["span"] <= MOST_AT
        waits = ((steps["waits_for"] != -1) | (steps["woken_by"] != -1)).any()
        once = (steps["meta"] & ONCE).any()
        computes = steps["cpu_ns"].sum() >= LEAST_ROUND_NS and (steps["cpu_ns"] >= 0).all()
        reads = np.isin(op, (Op.READ, *ADVICE)).all() and not (at[op == Op.READ] > MOST_AT).any()
        far = (steps["sector"] > MOST_AT).any()
        if not (begins and places and computes and reads) or waits or once or far:
            raise _damaged("a load's steps cannot be repeated")


def _damaged(message: str) -> EmulationError:
    return EmulationError(message, "the capture is damaged: record again")


@dataclass(frozen=True, eq=False)
class Timed:
    """The duration of a run, and its parts.

    The times leave out the threads of loads. While ``compute_ns`` at least one thread computed;
    while ``waited_ns`` none did, and at least one waited for the device; while ``behind_ns`` of
    that the device read pages that were unused in the whole run. In the rest of ``total_ns`` all
    slept. ``ends_ns`` (by thread) is when each
    ended, NaN if it did not. ``work`` (steps × 4) are the requests and the pages that each step
    read, the sectors of compressed blocks, and the waits of its thread for the device. ``over_ns``
    (by step) is when each was over, with the computing that its reads cost its thread; NaN if it
    was not.
    """

    total_ns: float
    compute_ns: float
    waited_ns: float
    behind_ns: float
    ends_ns: npt.NDArray[np.float64]
    work: npt.NDArray[np.int64]
    over_ns: npt.NDArray[np.float64]
