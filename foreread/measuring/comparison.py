"""The state of a comparison of two settings by pairs of runs, on one board or on several.

``confirm.py`` makes the runs of one board, ``spread_pairs.py`` runs on several boards at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from foreread.analyzer.confirm.sequential import BLOCK, Assessment, Pair, assess
from foreread.benches.messages import Out
from foreread.boards.base.silent import silent
from foreread.measuring.options import RunLimits
from foreread.measuring.pairs import ComparedBoard
from foreread.tracer.error import RecordError
from foreread.tracer.formats.confirmation import MOST_BOARDS, BoardRuns, Confirmation
from foreread.version import VERSION

_LONGEST = 500  # characters of a reason
_NOT_GIVEN = "the command that continued had other targets"


@dataclass(frozen=True)
class PairProgress:
    """One run that was made; ``left_s`` is the time until the limit, at most."""

    runs: int
    pairs: int
    read_ahead_kb: int
    proposed_kb: int
    seconds: float
    assessment: Assessment
    left_s: float
    change: str = ""  # what else the proposed runs have than their window
    board: str = ""  # that made it, if there are several


@dataclass
class Tally:
    """The runs of a board; ``ended`` are those up to the end of its latest pair.

    ``before``: runs and disturbed pairs of the result that is resumed. ``left_out``: why only that
    result has the board.
    """

    target: str
    runs: int = 0
    ended: int = 0
    disturbed: int = 0
    before: tuple[int, int] = (0, 0)
    left_out: str = ""

    def end(self, runs: int, disturbed: int) -> None:
        """Count the runs, and the disturbed pairs, up to the end of a pair."""
        self.runs, self.ended, self.disturbed = max(self.runs, runs), runs, disturbed

    def result(self, out: Out | None) -> BoardRuns:
        """Return what the board has made in all."""
        runs, disturbed = self.before
        return BoardRuns(
            target=self.target,
            runs=runs + self.runs,
            disturbed=disturbed + self.disturbed,
            set_aside=out.why[:_LONGEST] if out else self.left_out,
        )


@dataclass
class Comparison:
    """``board`` is the compared board, or the first of several like ones, each with a tally.

    ``pairs`` may begin with pairs of an earlier result. ``made_on`` has the board of each pair, and
    is empty for one board. ``failed``: why boards are out, by place.
    """

    board: ComparedBoard
    tallies: list[Tally]
    limits: RunLimits
    notes: list[str]
    progress: Callable[[PairProgress], None] = silent
    failed: Mapping[int, Out] = field(default_factory=dict)
    pairs: list[Pair] = field(default_factory=list)
    made_on: list[int] = field(default_factory=list)
    _before_s: float = 0.0
    _started: float = field(default_factory=time.monotonic)
    _latest: float = 0.0

    def __post_init__(self) -> None:
        self.several = len(self.tallies) > 1

    @property
    def assessment(self) -> Assessment:
        """What the pairs show so far."""
        return assess(self.pairs, self.made_on)

    def resume(self, last: Confirmation) -> None:
        """Go on after an earlier result; its boards may be others."""
        self._before_s = self._latest = last.wall_seconds
        self.notes += [note for note in last.notes if note not in self.notes]
        if not self.several:
            self.pairs += last.pairs[: len(last.pairs) // BLOCK * BLOCK]  # whole blocks
            self.tallies[0].before = last.runs, last.disturbed
            return
        self.pairs += last.pairs
        places = {tally.target: place for place, tally in enumerate(self.tallies)}
        for board in last.boards:
            if board.target not in places:
                places[board.target] = len(self.tallies)
                self.tallies.append(Tally(board.target, left_out=board.set_aside or _NOT_GIVEN))
            self.tallies[places[board.target]].before = board.runs, board.disturbed
        self.made_on += [places[last.boards[place].target] for place in last.made_on]
        if len(self.tallies) > MOST_BOARDS:
            raise RecordError(
                f"a result of {len(self.tallies)} boards cannot be stored: at most {MOST_BOARDS}",
                "start a new one without --resume",
            )

    def begin(self) -> None:
        """Let the time of the runs begin."""
        self._started = time.monotonic()

    def may_begin(self, pending: int = 0) -> bool:
        """Return whether the limits allow another pair; ``pending`` pairs are not counted yet."""
        spent = sum(max(tally.ended - 1, 0) for tally in self.tallies)  # the first is discarded
        in_time = self.limits.in_time(time.monotonic() - self._started)
        return in_time and spent + 2 * (pending + 1) <= self.limits.runs

    def ran(self, board: int, which: int, seconds: float, runs: int) -> None:
        """Report the run at a window, PRESENT or PROPOSED; ``runs`` are all of the board."""
        self.tallies[board].runs = runs
        windows = self.board.windows
        new = sum(tally.runs for tally in self.tallies)
        passed_s, discarded = time.monotonic() - self._started, 0 if self.several else 1
        self.progress(
            PairProgress(
                new + sum(tally.before[0] for tally in self.tallies),
                len(self.pairs),
                (windows.present_kb, windows.proposed_kb)[which],
                windows.proposed_kb,
                seconds,
                self.assessment,
                self.limits.left_s(passed_s, new, self.limits.runs + discarded),
                windows.change,
                self.tallies[board].target if self.several else "",
            )
        )

    def add(self, board: int, pair: Pair) -> None:
        """Count a pair."""
        self.pairs.append(pair)
        if self.several:
            self.made_on.append(board)

    def note_time(self) -> None:
        """Note how long the runs have taken up to now."""
        self._latest = self._before_s + time.monotonic() - self._started

    def result(self) -> Confirmation:
        """Return the present result."""
        boards = [tally.result(self.failed.get(place)) for place, tally in enumerate(self.tallies)]
        board, assessment = self.board, self.assessment
        return Confirmation(
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            foreread=VERSION,
            target=_named([tally.target for tally in self.tallies]),
            kernel=board.kernel,
            machine=board.machine,
            model=board.model,
            disks=list(board.disks),
            present_kb=board.windows.present_kb,
            proposed_kb=board.windows.proposed_kb,
            outcome=assessment.outcome,
            gain=assessment.gain,
            low=assessment.low,
            high=assessment.high,
            pairs=list(self.pairs),
            scenario=board.windows.scenario.text,
            memory_kib=board.windows.memory_kib,
            change=board.windows.change,
            disturbed=sum(each.disturbed for each in boards),
            runs=sum(each.runs for each in boards),
            wall_seconds=round(self._latest, 3),
            notes=list(self.notes),
            boards=boards if self.several else [],
            made_on=list(self.made_on),
        )


def _named(targets: Sequence[str]) -> str:
    """Return the boards' names, if they are many as their number."""
    first, *others = targets
    few = ", ".join(targets)
    return few if len(few) <= 80 or not others else f"{first} and {len(others)} others"
