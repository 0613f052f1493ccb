"""The boards of a fleet as processes (process.py), which make runs at the same time."""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import Thread
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from foreread.analyzer.tuner.campaign.crew import Reply
from foreread.analyzer.tuner.store.limits import MOST_ROWS
from foreread.benches.messages import (
    Back,
    BoardTask,
    Completed,
    Message,
    Opened,
    Out,
    Ran,
    StepText,
)
from foreread.boards.base.owner import marked
from foreread.boards.base.silent import silent
from foreread.error import ArgumentError
from foreread.tracer.error import RecordError

MOST_BOARDS = MOST_ROWS["boards"]
B = TypeVar("B")  # the description of an open board
D = TypeVar("D")  # a due run
M = TypeVar("M")  # the result of a run
_END_S = 5.0  # for a process to end by itself, before it gets SIGTERM
_TERM_S = 60.0  # for it to put its board back then; after that the board's guard does


def check_targets(targets: Sequence[str], alone: str) -> None:
    """Raise ArgumentError unless the targets are a fleet; ``alone``: the command for one board."""
    if len(targets) < 2:
        raise ArgumentError(
            "a fleet has at least two boards", f"give --target for each, or use {alone}"
        )
    if len(targets) > MOST_BOARDS:
        raise ArgumentError(
            f"{len(targets)} boards are more than a fleet may have",
            f"give at most {MOST_BOARDS} targets",
        )
    if twice := [name for name in targets if targets.count(name) > 1]:
        raise ArgumentError(
            f"{twice[0]} is given twice: a board makes one run at a time", "name each board once"
        )


def first_difference(properties: Mapping[str, tuple[object, object]]) -> str:
    """Return in what two boards differ; empty if they are alike.

    ``properties``: the value of the first and of the second board, by name.
    """
    for name, (first, second) in properties.items():
        if first != second:
            return f"its {name} is {second}, not {first}"
    return ""


class BoardsAtWork(Generic[B, D, M]):
    """A context manager: its processes have put their boards back when it ends.

    It has the interface ``analyzer.tuner.campaign.crew.Boards``. ``tell`` is called with the steps
    of each board, after its name; ``ran`` with the place of a board and a run that it sends.
    """

    ran: Callable[[int, Any], None] = staticmethod(silent)

    def __init__(self, tasks: Sequence[BoardTask], tell: Callable[[str], None]) -> None:
        self.names = [task.target for task in tasks]
        self.alive = set(range(len(tasks)))
        self.idle: set[int] = set()
        self.opened: dict[int, B] = {}
        self.failed: dict[int, Out] = {}  # boards that could not be opened, or are out
        self._tell = tell
        self._messages: queue.SimpleQueue[tuple[int, Message]] = queue.SimpleQueue()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._tasks = tasks

    def __enter__(self) -> Self:
        try:
            for place, task in enumerate(self._tasks):
                self._start(place, task)
            while len(self.opened) + len(self.failed) < len(self._tasks):
                self._open_one()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def leave_out_failed(self, resume: bool) -> None:
        """Raise RecordError if boards cannot be opened; where work is resumed, only if all are."""
        for place, failed in sorted(self.failed.items()):
            if not resume or not self.opened:
                raise RecordError(f"{self.names[place]}: {failed.why}", failed.remedy)
            self._tell(f"board {self.names[place]} is left out: {failed.why}")

    def send_all(self, message: object) -> None:
        """Send the same to all boards that are open."""
        for place in self.opened:
            self._send(place, message)

    def begin(self, board: int, due: D) -> None:
        """Have an idle board make a run."""
        self.idle.discard(board)
        self._send(board, due)

    def reply(self) -> Reply[M]:
        """Wait for the next reply of any board."""
        while True:
            board, message = self._next()
            if board not in self.alive:
                continue
            if isinstance(message, Completed):
                if not message.lost:
                    self.idle.add(board)
                return Reply(board, message.result, message.lost)
            if isinstance(message, Back):
                self.idle.add(board)
                return Reply(board)
            if isinstance(message, Out):
                self.failed[board] = message
                return Reply(board, out=message.why)

    def set_aside(self, board: int) -> None:
        """Give a board no more runs, and have its process end."""
        self.alive.discard(board)
        self.idle.discard(board)
        self._close(board)

    def _start(self, place: int, task: BoardTask) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "foreread.benches.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=marked() | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self._processes.append(process)
        self._send(place, task)
        Thread(target=self._listen, args=(place, process), daemon=True).start()

    def _open_one(self) -> None:
        """Handle the next message of a board that is being opened."""
        place, message = self._next()
        if isinstance(message, Opened):
            self.opened[place] = message.board
            self.idle.add(place)
        elif isinstance(message, Out):
            self.failed.setdefault(place, message)
            self.alive.discard(place)

    def _next(self) -> tuple[int, Message]:
        """Return the next message that is neither a step nor a run."""
        while True:
            place, message = self._messages.get()
            if isinstance(message, StepText):
                self._tell(f"{self.names[place]}: {message.text}")
            elif not isinstance(message, Ran):
                return place, message
            elif place in self.alive:
                self.ran(place, message.run)

    def _listen(self, place: int, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        try:
            with suppress(EOFError, OSError, ValueError, pickle.UnpicklingError):
                while True:
                    self._messages.put((place, pickle.load(process.stdout)))
        finally:  # also after an error of ours: nobody waits for a reply that does not come
            out = Out("its process has ended", "repeat the command line with --resume")
            self._messages.put((place, out))

    def _send(self, place: int, message: object) -> None:
        pipe = self._processes[place].stdin
        assert pipe is not None
        with suppress(BrokenPipeError):  # the end of its process is a reply, too
            pipe.write(pickle.dumps(message))
            pipe.flush()

    def _close(self, place: int) -> None:
        pipe = self._processes[place].stdin
        assert pipe is not None
        with suppress(OSError):
            pipe.close()

    def _end(self) -> None:
        """Have all processes put their boards back, and wait for that.

        A board that makes a run is interrupted: nobody waits for the run.
        """
        at_work = self.alive.intersection(self.opened) - self.idle
        for place, process in enumerate(self._processes):
            self._close(place)
            if place in at_work:
                process.terminate()
        for place, process in enumerate(self._processes):
            if place not in at_work:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_END_S)
                    continue
                process.terminate()  # once: a second signal would interrupt its clean-up
        for process in self._processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_TERM_S)
