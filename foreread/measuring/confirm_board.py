"""One of several boards of ``confirm``: a process of its own (benches/process.py) makes pairs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from foreread.analyzer.confirm.sequential import Pair
from foreread.analyzer.predict.proposal import Proposal
from foreread.benches.messages import Completed, Link, Opened, Ran
from foreread.benches.opened import OpenBench
from foreread.measuring.options import ConfirmOptions
from foreread.measuring.pairs import ComparedBoard, PairedRuns
from foreread.measuring.settings import choose_windows
from foreread.recording.recorded_start import check_board
from foreread.tracer.formats.capture import Metadata
from foreread.tracer.trials.trial import Scenario, TrialOptions, check_loads


@dataclass(frozen=True)
class PairDue:
    """A pair to be made, by its place in the sequence of all boards."""

    number: int


@dataclass(frozen=True)
class MadePair:
    """The seconds of a pair; runs, disturbed pairs and notes of the board up to its end."""

    pair: Pair
    runs: int
    disturbed: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class PairRun:
    """A run: at which window, and its seconds; ``runs`` is how many the board has made."""

    which: int
    seconds: float
    runs: int


@dataclass(frozen=True)
class ComparedStart:
    """The start that all boards of a fleet run, and how it is compared."""

    capture: Metadata
    proposal: Proposal
    trials: TrialOptions
    options: ConfirmOptions
    identity: Path | None = None


@dataclass(frozen=True)
class ConfirmTask:
    """A board, the start that it runs, and how its bench is opened."""

    target: str
    of: ComparedStart
    open_bench: OpenBench

    def serve(self, link: Link) -> None:
        """Make the pairs that are due."""
        of, options = self.of, self.of.options
        scenario = Scenario.parse(options.scenario)
        opening = (self.target, of.identity, of.trials, link.tell, of.capture)
        with self.open_bench(*opening) as bench:
            if not options.force:
                check_board(bench, of.capture)
            compared = (of.capture, of.proposal, options.row, scenario, options.memory_kib)
            windows = choose_windows(bench, *compared)
            check_loads(bench, [scenario])
            link.send(Opened(ComparedBoard.of(bench, windows)))
            paired = PairedRuns(bench, windows, self._seed, killed_s=options.limit_s)
            while True:
                link.receive()
                link.send(Completed(_pair(paired, link)))

    @property
    def _seed(self) -> str | None:
        """The random seed of the board's orders: boards do not run in step."""
        seed = self.of.options.seed
        return None if seed is None else f"{seed} {self.target}"


def _pair(paired: PairedRuns, link: Link) -> MadePair:
    """Make a pair, again if it is disturbed; the first run of the board is discarded."""

    def ran(which: int, seconds: float) -> None:
        link.send(Ran(PairRun(which, seconds, paired.runs)))

    if not paired.runs:
        paired.discard_first()
    pair = None
    while pair is None:
        pair = paired.pair(ran)
    return MadePair(pair, paired.runs, paired.disturbed, tuple(paired.notes))
