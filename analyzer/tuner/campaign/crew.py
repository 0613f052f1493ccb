"""Several like boards at work: each makes one run at a time, and a lost board makes none.

The boards themselves are elsewhere (``Boards``); this module assigns runs to boards. A run that
took its board down is repeated once on another board. If that board is lost too, the run is to
blame. The caller defines the due item and the result: an attempt of a campaign, a block of pairs of
``confirm``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

from foreread.analyzer.tuner.campaign.attempts import CampaignError

D = TypeVar("D")  # the due item
M = TypeVar("M")  # its result
D_contra = TypeVar("D_contra", contravariant=True)
M_co = TypeVar("M_co", covariant=True)


class NoBoardError(CampaignError):
    """All boards are set aside."""


@dataclass(frozen=True)
class Job(Generic[D]):
    """A run to make: on the board ``only``, or on any; ``first`` is preferred, ``avoid`` not."""

    due: D
    only: int | None = None
    first: int | None = None
    avoid: int | None = None
    lost: bool = False  # lost with its board once already


@dataclass(frozen=True)
class Reply(Generic[M_co]):
    """A board's report: a run, and whether the board was lost in it; or why it is out for good."""

    board: int
    made: M_co | None = None
    lost: bool = False
    out: str = ""


class Boards(Protocol[D_contra, M_co]):
    """The boards that make runs, by their places from 0."""

    @property
    def names(self) -> list[str]:
        """Names of all boards."""
        ...

    @property
    def idle(self) -> Collection[int]:
        """Boards that can take a run now."""
        ...

    @property
    def alive(self) -> Collection[int]:
        """Boards that make runs, or may come back."""
        ...

    def begin(self, board: int, due: D_contra) -> None:
        """Start a run on an idle board."""
        ...

    def reply(self) -> Reply[M_co]:
        """Wait for the next reply of any board."""
        ...

    def set_aside(self, board: int) -> None:
        """Stop assigning runs to a board."""
        ...


@dataclass
class Crew(Generic[D, M]):
    """Assigns jobs to boards.

    ``keep`` stores a run that was lost with its board, by the board's place; ``tell`` is called
    with the boards that are set aside.
    """

    boards: Boards[D, M]
    keep: Callable[[int, M], None]
    tell: Callable[[str], None]
    _waiting: list[Job[D]] = field(default_factory=list)
    _running: dict[int, Job[D]] = field(default_factory=dict)

    @property
    def pending(self) -> int:
        """Number of jobs that have not ended."""
        return len(self._waiting) + len(self._running)

    def submit(self, job: Job[D]) -> None:
        """Queue a job; jobs that were queued earlier begin first."""
        self._waiting.append(job)

    def results(self) -> Iterator[tuple[Job[D], int, M]]:
        """Yield each ended job, with its board and run, until none is pending.

        More jobs may be queued meanwhile. A job for a board that is set aside ends without a run,
        and is not yielded. Raises NoBoardError if all boards are set aside.
        """
        while True:
            self._begin()
            if not self._running and not self._waiting:
                return
            reply = self.boards.reply()
            if reply.out:
                self.set_aside(reply.board, reply.out)
                continue
            if reply.made is None:  # a board is back
                continue
            job = self._running.pop(reply.board)
            if reply.lost and not job.lost:
                self.keep(reply.board, reply.made)
                self._again(job, reply.board)
            else:
                yield job, reply.board, reply.made

    def set_aside(self, board: int, why: str) -> None:
        """Stop assigning runs to a board; jobs that only this board could make are dropped."""
        name = self.boards.names[board]
        self.boards.set_aside(board)
        if (job := self._running.pop(board, None)) is not None:
            self._again(job, board)
        self._waiting = [job for job in self._waiting if job.only != board]
        if not self.boards.alive:
            raise NoBoardError(
                f"no board is left; the last one, {name}: {why}",
                "see the boards' consoles for the reason, restart them, then repeat the command "
                "line with --resume",
            )
        self.tell(f"board {name} is set aside, its runs go to the others: {why}")

    def _again(self, job: Job[D], board: int) -> None:
        if job.only is None:
            self._waiting.insert(0, replace(job, avoid=board, first=None, lost=True))

    def _begin(self) -> None:
        """Give every idle board its next job."""
        for board in sorted(self.boards.idle):
            job = self._next(board)
            if job is not None:
                self._waiting.remove(job)
                self._running[board] = job
                self.boards.begin(board, job.due)

    def _next(self, board: int) -> Job[D] | None:
        """Return the next job of a board: its own first, then one that prefers no other, or any."""
        others_alive = set(self.boards.alive) - {board}
        fitting = [
            job
            for job in self._waiting
            if job.only == board or (job.only is None and not (job.avoid == board and others_alive))
        ]
        fitting.sort(key=lambda job: (job.only != board, job.first not in (None, board)))
        return fitting[0] if fitting else None
