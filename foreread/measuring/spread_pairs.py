"""A comparison of two windows under way on several like boards at the same time.

Both runs of a pair are made on one board, whichever is free next, so that how fast a board is
cancels. Each board alternates the order of its pairs. Pairs are counted in the order in which they
were handed out, whatever the order in which they end: pairs that are short would otherwise be
looked at first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from foreread.analyzer.tuner.campaign.crew import Crew, Job
from foreread.benches.boards import BoardsAtWork
from foreread.boards.base.silent import silent
from foreread.measuring.comparison import Comparison
from foreread.measuring.confirm_board import MadePair, PairDue, PairRun
from foreread.measuring.pairs import ComparedBoard
from foreread.tracer.formats.confirmation import Confirmation

_MOST_NOTES, _LONGEST = 20, 500  # characters of a note

Boards = BoardsAtWork[ComparedBoard, PairDue, MadePair]


@dataclass
class SpreadPairs:
    """``boards`` are open and alike."""

    boards: Boards
    comparison: Comparison
    tell: Callable[[str], None] = silent
    _begun: int = 0
    _counted: int = 0
    _ended: dict[int, tuple[int, MadePair]] = field(default_factory=dict)  # and not counted yet

    def __post_init__(self) -> None:
        self.boards.ran = self._ran

    def run(self, save: Callable[[Confirmation], None]) -> Confirmation:
        """Make runs until the difference is known or a limit is reached.

        ``save`` gets the result after every pair. Raises NoBoardError if all boards are lost, and
        KeyboardInterrupt: the measurements have been saved by then.
        """
        comparison = self.comparison
        comparison.begin()
        crew: Crew[PairDue, MadePair] = Crew(self.boards, _nothing_is_lost, self.tell)
        self._hand_out(crew)
        for job, board, pair in crew.results():
            self._ended[job.due.number] = board, pair
            self._count()
            comparison.note_time()
            save(comparison.result())
            if comparison.assessment.decided:
                break
            self._hand_out(crew)
        return comparison.result()

    def _ran(self, board: int, run: PairRun) -> None:
        self.comparison.ran(board, run.which, run.seconds, run.runs)

    def _hand_out(self, crew: Crew[PairDue, MadePair]) -> None:
        """Have a pair for each board, as far as the limits let it."""
        while crew.pending < len(self.boards.alive) and self.comparison.may_begin(
            self._begun - self._counted
        ):
            crew.submit(Job(PairDue(self._begun)))
            self._begun += 1

    def _count(self) -> None:
        """Count the pairs that have ended and before which all have."""
        comparison = self.comparison
        while self._counted in self._ended:
            board, ended = self._ended.pop(self._counted)
            self._counted += 1
            comparison.add(board, ended.pair)
            tally = comparison.tallies[board]
            tally.end(ended.runs, ended.disturbed)
            new = [f"{tally.target}: {note[:_LONGEST]}" for note in ended.notes]
            new = [note for note in new if note not in comparison.notes]
            comparison.notes += new[: max(0, _MOST_NOTES - len(comparison.notes))]


def _nothing_is_lost(_board: int, _pair: MadePair) -> None:
    """A board that is lost ends its process: what it made of a pair is not sent."""
