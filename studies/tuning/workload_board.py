"""Workloads by fio on an emulated board, in guest time: IOPerf's, each of whose runs is kept.

fio's own clock is the guest's, so that figures repeat and do not depend on this machine's load. A
run is a line of the raw file once made: a study that was stopped, also by SIGKILL, asks again for
what it asked for, and loses one run at most. The board itself is of use for other workloads, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from foreread.boards.emulated.live import EmulatedTarget, LiveOptions
from foreread.boards.target import TargetError
from studies.tuning.workload import Done, Ground, Workload, lay_out, run

DISK = "slow0"
FILE_MIB = 256  # so that no process comes round to what it has read
# The disk costs what that of every live board does. Memory has room for fio, which maps 80 MiB, and
# for what a run reads: the file alone is cold.
BOARD = LiveOptions(
    "x86_64",
    kernel="6.12",
    packages=("fio",),
    free_mib=FILE_MIB + 32,
    memory_mib=960,
    append="mitigations=off",  # of flaws that an emulated processor does not have
    time_out_s=600.0,
)
# A disk that serves one request at a time gets a queue of 2 from Linux, unless its driver says it
# takes more. Those of eMMC and SD cards say 64, which makes 128; the papers' kernels had 128 too.
# Changing the scheduler sets it anew, so it is set with every run; "none" has no queue of its own.
QUEUE = 128
_NR_REQUESTS = f"/sys/block/{DISK}/queue/nr_requests"
_SCHEDULER = f"/sys/block/{DISK}/queue/scheduler"
_GROUND = Ground("/data", FILE_MIB << 20)
_WARMING = Workload(4, 50, 50, 64)  # fio itself is read from the disk in the first runs
_WARMING_RUNS = 3
_TRIES = 3

Settings = Sequence[tuple[str, str]]
T = TypeVar("T")


class Booted:
    """A board, booted at its first use, and anew when it was lost.

    ``prepare`` runs once the board is up.
    """

    def __init__(
        self,
        options: LiveOptions,
        prepare: Callable[[EmulatedTarget], None],
        tell: Callable[[str], None] = print,
    ) -> None:
        self._options, self._prepare, self._tell = options, prepare, tell
        self._target: EmulatedTarget | None = None

    def ask(self, how: Callable[[EmulatedTarget], T]) -> T:
        """Return what ``how`` gets of the board; raises TargetError if it is lost each time."""
        for tries_left in reversed(range(_TRIES)):
            try:
                return how(self._up())
            except TargetError as error:
                self.close()
                if not tries_left:
                    raise
                self._tell(f"once more: {error}")
        raise AssertionError

    def close(self) -> None:
        """Stop the board."""
        target, self._target = self._target, None
        if target is not None:
            target.close()

    def _up(self) -> EmulatedTarget:
        if self._target is None:
            self._target = EmulatedTarget(self._options, self._tell)
            self._prepare(self._target)
        return self._target


class WorkloadBoard:
    """IOPerf's board; it runs the workloads that the file ``raw`` does not have yet."""

    def __init__(self, raw: Path, seconds: float, tell: Callable[[str], None]) -> None:
        self._raw, self._seconds = raw, seconds
        self._kept = dict(_read(raw))
        self._board = Booted(BOARD, self._warm, tell)

    def run(self, settings: Settings, workload: Workload, repeat: int = 0) -> Done:
        """Run ``workload`` under ``settings``; ``repeat`` numbers runs of the same."""
        what = {
            "settings": [list(setting) for setting in _with_queue(settings)],
            "workload": asdict(workload),
            "seconds": self._seconds,
            "repeat": repeat,
        }
        return Done(**self._ask(what, lambda board: asdict(self._run(board, settings, workload))))

    def knob(self, path: str) -> str:
        """Return the value of a knob while nothing is set."""
        return str(self._ask({"knob": path}, lambda board: board.read_knob(path)))

    def close(self) -> None:
        """Stop the board."""
        self._board.close()

    def _warm(self, board: EmulatedTarget) -> None:
        """Lay out the file, and have fio in the page cache."""
        lay_out(board, _GROUND)
        for _ in range(_WARMING_RUNS):
            self._run(board, (), _WARMING)

    def _run(self, board: EmulatedTarget, settings: Settings, workload: Workload) -> Done:
        return run(board, _GROUND, workload, self._seconds, _with_queue(settings))

    def _ask(self, what: dict[str, Any], how: Callable[[EmulatedTarget], Any]) -> Any:
        key = json.dumps(what)
        if key not in self._kept:
            self._kept[key] = self._board.ask(how)
            with self._raw.open("a") as file:
                file.write(json.dumps({"asked": what, "answer": self._kept[key]}) + "\n")
        return self._kept[key]


@contextmanager
def workload_board(
    raw: Path, seconds: float, tell: Callable[[str], None] = print
) -> Iterator[WorkloadBoard]:
    """Yield a board for workloads of so many guest seconds each."""
    board = WorkloadBoard(raw, seconds, tell)
    try:
        yield board
    finally:
        board.close()


def _with_queue(settings: Settings) -> list[tuple[str, str]]:
    own = dict(settings)
    if _NR_REQUESTS in own or own.get(_SCHEDULER) == "none":
        return list(settings)
    return [*settings, (_NR_REQUESTS, str(QUEUE))]


def _read(raw: Path) -> Iterator[tuple[str, Any]]:
    """Yield what is kept; a line that a killed study did not end is taken off."""
    if not raw.exists():
        return
    text = raw.read_bytes()
    whole = text[: text.rfind(b"\n") + 1]
    if whole != text:
        raw.write_bytes(whole)
    for line in whole.splitlines():
        kept = json.loads(line)
        yield json.dumps(kept["asked"]), kept["answer"]
