"""A comparison of two windows under way on several like boards at the same time.

Both runs of a pair are made on one board, whichever is free next, so that how fast a board is
cancels. Each board alternates the order of its pairs. Pairs are counted in the order in which they
were handed out, whatever the order in which they end: pairs that are short would otherwise be
looked at first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from analyzer.confirm.sequential import Pair, assess
from analyzer.tuner.campaign.crew import Crew, Job
from boards.base.silent import silent
from foreread.benches.boards import BoardsAtWork
from foreread.benches.messages import Out
from foreread.measuring.comparison import PairProgress, RunLimits, confirmation_of
from foreread.measuring.confirm_board import MadePair, PairDue, Run
from foreread.measuring.pairs import ComparedBoard, Windows
from tracer.error import RecordError
from tracer.formats.confirmation import MOST_BOARDS, BoardRuns, Confirmation

_MOST_NOTES, _LONGEST = 20, 500  # characters of a reason and of a note

_NOT_GIVEN = "the command that continued had other targets"

Boards = BoardsAtWork[ComparedBoard, PairDue, MadePair]


@dataclass
class _Board:
    """What a board has made; ``before``: runs and disturbed pairs of the result that is resumed.

    ``left_out``: why only the earlier result has it.
    """

    target: str
    runs: int = 0
    disturbed: int = 0
    before: tuple[int, int] = (0, 0)
    left_out: str = ""

    def result(self, out: Out | None) -> BoardRuns:
        runs, disturbed = self.before
        return BoardRuns(
            target=self.target,
            runs=runs + self.runs,
            disturbed=disturbed + self.disturbed,
            set_aside=out.why[:_LONGEST] if out else self.left_out,
        )


@dataclass
class SpreadPairs:
    """``boards`` are open and alike; ``pairs`` may begin with those of an earlier result."""

    boards: Boards
    limits: RunLimits
    notes: list[str]
    progress: Callable[[PairProgress], None] = silent
    tell: Callable[[str], None] = silent
    pairs: list[Pair] = field(default_factory=list)
    wall_seconds: float = 0.0
    _made_on: list[int] = field(default_factory=list)
    _known: list[_Board] = field(default_factory=list)
    _begun: int = 0
    _counted: int = 0
    _ended: dict[int, tuple[int, MadePair]] = field(default_factory=dict)  # and not counted yet
    _started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.boards.ran = self.ran
        self._known = [_Board(name) for name in self.boards.names]

    def resume(self, last: Confirmation) -> None:
        """Go on after an earlier result; its boards may be others."""
        self.pairs, self.wall_seconds = list(last.pairs), last.wall_seconds
        self.notes += [note for note in last.notes if note not in self.notes]
        places = {one.target: place for place, one in enumerate(self._known)}
        for one in last.boards:
            if one.target not in places:
                places[one.target] = len(self._known)
                self._known.append(_Board(one.target, left_out=one.set_aside or _NOT_GIVEN))
            self._known[places[one.target]].before = one.runs, one.disturbed
        self._made_on = [places[last.boards[place].target] for place in last.made_on]
        if len(self._known) > MOST_BOARDS:
            raise RecordError(
                f"a result of {len(self._known)} boards cannot be stored: at most {MOST_BOARDS}",
                "start a new one without --resume",
            )

    def run(self, save: Callable[[Confirmation], None]) -> Confirmation:
        """Make runs until the difference is known or a limit is reached.

        ``save`` gets the result after every pair. Raises NoBoardError if all boards are lost, and
        KeyboardInterrupt: the measurements have been saved by then.
        """
        self._started, before = time.monotonic(), self.wall_seconds
        crew: Crew[PairDue, MadePair] = Crew(self.boards, _nothing_is_lost, self.tell)
        self._hand_out(crew)
        for job, board, made in crew.results():
            self._ended[job.due.number] = board, made
            self._count()
            self.wall_seconds = before + time.monotonic() - self._started
            save(self.result())
            if assess(self.pairs, self._made_on).decided:
                break
            self._hand_out(crew)
        return self.result()

    def ran(self, board: int, run: Run) -> None:
        """Report a run that a board has made."""
        self._known[board].runs = run.runs
        windows = self._windows
        self.progress(
            PairProgress(
                sum(one.runs + one.before[0] for one in self._known),
                len(self.pairs),
                (windows.present_kb, windows.proposed_kb)[run.which],
                windows.proposed_kb,
                run.seconds,
                assess(self.pairs, self._made_on),
                self._left_s(),
                windows.change,
                self._known[board].target,
            )
        )

    def result(self) -> Confirmation:
        """Return the present result."""
        out = self.boards.failed
        known = [one.result(out.get(place)) for place, one in enumerate(self._known)]
        return confirmation_of(
            self.boards.opened[min(self.boards.opened)],
            self._windows,
            self.pairs,
            target=_named([one.target for one in known]),
            runs=sum(one.runs for one in known),
            disturbed=sum(one.disturbed for one in known),
            wall_seconds=self.wall_seconds,
            notes=self.notes,
            boards=known,
            made_on=self._made_on,
        )

    @property
    def _windows(self) -> Windows:
        return self.boards.opened[min(self.boards.opened)].windows

    def _hand_out(self, crew: Crew[PairDue, MadePair]) -> None:
        """Have a pair for each board, as far as the limits let it."""
        while crew.pending < len(self.boards.alive) and self._within():
            crew.submit(Job(PairDue(self._begun)))
            self._begun += 1

    def _within(self) -> bool:
        """Return whether another pair may be begun."""
        again = sum(one.disturbed for one in self._known)
        in_time = self.limits.in_time(time.monotonic() - self._started)
        return in_time and 2 * (self._begun + 1 + again) <= self.limits.runs

    def _left_s(self) -> float:
        passed, made = time.monotonic() - self._started, sum(one.runs for one in self._known)
        return self.limits.left_s(passed, made, self.limits.runs)

    def _count(self) -> None:
        """Count the pairs that have ended and before which all have."""
        while self._counted in self._ended:
            board, made = self._ended.pop(self._counted)
            self._counted += 1
            self.pairs.append(made.pair)
            self._made_on.append(board)
            known = self._known[board]
            known.runs, known.disturbed = max(known.runs, made.runs), made.disturbed
            new = [f"{known.target}: {note[:_LONGEST]}" for note in made.notes]
            new = [note for note in new if note not in self.notes]
            self.notes += new[: max(0, _MOST_NOTES - len(self.notes))]


def _named(targets: Sequence[str]) -> str:
    """Return the boards' names, if they are many as their number."""
    few = ", ".join(targets)
    return few if len(few) <= 80 else f"{targets[0]} and {len(targets) - 1} others"


def _nothing_is_lost(_board: int, _made: MadePair) -> None:
    """A board that is lost ends its process: what it made of a pair is not sent."""
