"""Computing after a wait for the disk: how much longer it takes with the caches that a wait leaves.

The pieces of computing are what interpreters and compilers do while they start: source is compiled,
patterns and documents are parsed, objects are called and sorted. Each piece has code and data of
its own, and all together exceed the processor's first caches. A round executes them twice: right
after others, and after a read that has to wait.
"""

from __future__ import annotations

import gc
import json
import os
import re
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from foreread.tracer.formats.disk_probe import Computing, ComputingRound, ProbeTrial
from foreread.tracer.local.disk.pages import Opened
from foreread.tracer.local.disk.spans import Places

Piece = Callable[[], object]

FEWEST_ROUNDS = 12
_ROUNDS = 60
_LONGEST_NS = 400_000_000  # of all rounds
_READ_BYTES = 4096
_OF_EACH_KIND = 8
_STEP = 13  # pieces from the first of a round to the first of the next: each is first in its turn
_OBJECTS = 32  # of a piece
# Of the processors' time: what others compute during a wait evicts more than the wait itself.
_MOST_OTHERS = 0.25


def compute_after_waits(places: Places, trials: list[ProbeTrial]) -> Computing | None:
    """Return the rounds; None where the disk is too slow for them, or others use the processors.

    ``trials`` are the reads of the disk so far. Raises OSError if the disk refuses a read.
    """
    if not places.fits(_READ_BYTES) or _usual_ns(trials) * FEWEST_ROUNDS > _LONGEST_NS:
        return None
    kinds = {"source": _sources(), "pattern": _patterns(), "text": _texts(), "object": _objects()}
    names = [name for _ in range(_OF_EACH_KIND) for name in kinds]
    pieces = [piece for row in zip(*kinds.values(), strict=True) for piece in row]
    rounds: list[ComputingRound] = []
    end = time.monotonic_ns() + _LONGEST_NS
    before = _Used.now()
    gc.disable()
    try:
        with ExitStack() as stack:
            opened = Opened(stack)
            _durations(pieces)
            for row in range(_ROUNDS):
                first = row * _STEP % len(pieces)
                in_turn = pieces[first:] + pieces[:first]
                warm_ns = _durations(in_turn)
                _wait(places, opened)
                cold_ns = _durations(in_turn)
                rounds.append(ComputingRound(first=first, warm_ns=warm_ns, cold_ns=cold_ns))
                if time.monotonic_ns() > end:
                    break
    finally:
        gc.enable()
    if len(rounds) < FEWEST_ROUNDS or _Used.now().by_others(before) > _MOST_OTHERS:
        return None
    return Computing(kinds=names, rounds=rounds)


@dataclass(frozen=True)
class _Used:
    """The time of all processors (s): all of it, of it used, and used by this process."""

    total_s: float
    used_s: float
    own_s: float

    @staticmethod
    def now() -> _Used:
        """Return it as /proc/stat says (proc_stat(5)): user, nice, system, idle, iowait, …"""
        of_all = Path("/proc/stat").read_text().partition("\n")[0]
        ticks = [int(word) for word in of_all.split()[1:9]]
        tick_s = 1 / os.sysconf("SC_CLK_TCK")
        used = sum(ticks) - sum(ticks[3:5])
        return _Used(sum(ticks) * tick_s, used * tick_s, time.process_time())

    def by_others(self, before: _Used) -> float:
        """Return the share of the time since ``before`` that others used."""
        others_s = (self.used_s - before.used_s) - (self.own_s - before.own_s)
        return others_s / max(self.total_s - before.total_s, others_s, 1e-9)


def _usual_ns(trials: list[ProbeTrial]) -> float:
    """Return the duration of a request of the first trial, whose requests are the smallest."""
    done, issue = trials[0].complete_ns, trials[0].issue_ns
    return (done[-1] - min(issue)) / len(done)


def _durations(pieces: list[Piece]) -> list[int]:
    """Return the processor's time of each piece (ns)."""
    re.purge()
    clock = time.thread_time_ns
    durations, before = [], clock()
    for piece in pieces:
        piece()
        after = clock()
        durations.append(after - before)
        before = after
    return durations


def _wait(places: Places, opened: Opened) -> None:
    """Read a page that is not in the page cache."""
    descriptor, offset = places.random(_READ_BYTES)
    file = opened.file(descriptor)
    os.posix_fadvise(file, offset, _READ_BYTES, os.POSIX_FADV_DONTNEED)
    opened.drop_at_end(file, offset, _READ_BYTES)
    os.pread(file, _READ_BYTES, offset)


def _sources() -> list[Piece]:
    """Compile functions, loops and comprehensions."""
    forms = (
        "def call{0}(item, by={0}):\n    return item.member{0}(by, key={0})\n",
        "while left{0} < {0}:\n    left{0} += part{0}['name{0}'] or -1\n",
        "rows{0} = [item{0} + {0} for item{0} in range({0}) if item{0} % 3]\n",
    )

    def piece(row: int) -> Piece:
        source = forms[row % len(forms)].format(row)
        return lambda: compile(source, f"piece {row}", "exec")

    return [piece(row) for row in range(_OF_EACH_KIND)]


def _patterns() -> list[Piece]:
    """Compile regular expressions, in the interpreter."""

    def piece(row: int) -> Piece:
        pattern = f"a{row}[b-{'cdefghij'[row]}]+"
        return lambda: re.compile(pattern)

    return [piece(row) for row in range(_OF_EACH_KIND)]


def _texts() -> list[Piece]:
    """Parse documents."""

    def piece(row: int) -> Piece:
        rows = {f"key{row}{part}": [part, str(row) * 3, {"a": None}] for part in range(12)}
        text = json.dumps(rows)
        return lambda: json.loads(text)

    return [piece(row) for row in range(_OF_EACH_KIND)]


class _Object:
    def __init__(self, number: int) -> None:
        self.name = f"object {number}"
        self.members = {"number": number, "others": [number] * 3}

    def weight(self, by: int) -> int:
        return by * len(self.name) + int(bool(self.members["number"]))


def _objects() -> list[Piece]:
    """Call the methods of objects, and sort by the results."""

    def piece(row: int) -> Piece:
        objects = [_Object(row + _OF_EACH_KIND * part) for part in range(_OBJECTS)]
        return lambda: sorted({item.name: item.weight(row) for item in objects}.items())

    return [piece(row) for row in range(_OF_EACH_KIND)]
