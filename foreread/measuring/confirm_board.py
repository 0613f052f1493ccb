"""One of several boards of ``confirm``: a process of its own (board_process.py) makes pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from analyzer.confirm.sequential import Pair
from analyzer.predict.proposal import Proposal
from boards.open import open_target
from foreread.benches.messages import Link, Made, Opened, Ran
from foreread.measuring.advice_row import Advised
from foreread.measuring.pairs import ComparedBoard, PairedRuns, Windows
from foreread.measuring.settings import choose_windows
from foreread.recording.recorded_start import check_board
from tracer.formats.capture import Metadata
from tracer.local.trial import Scenario, TrialBench, TrialOptions, check_loads
from tracer.machines import bench_on


@dataclass(frozen=True)
class PairDue:
    """A pair to be made, by its place in the sequence of all boards."""

    number: int


@dataclass(frozen=True)
class MadePair:
    """The seconds of a pair, and what the board has made up to it."""

    pair: Pair
    runs: int
    disturbed: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """A run: at which window, and its seconds; ``runs`` is how many the board has made."""

    which: int
    seconds: float
    runs: int


@dataclass(frozen=True)
class Subject:
    """What all boards of a fleet run. ``force``: also on boards that are not the recorded one."""

    capture: Metadata
    proposal: Proposal
    trials: TrialOptions
    row: Advised | None = None
    scenario: Scenario = field(default_factory=Scenario)
    force: bool = False
    identity: Path | None = None


OpenBench = Callable[[str, Subject, Callable[[str], None]], AbstractContextManager[TrialBench]]


@contextmanager
def open_bench(target: str, of: Subject, tell: Callable[[str], None]) -> Iterator[TrialBench]:
    """Yield a target as a bench of trials."""
    with (
        open_target(target, identity=of.identity, tell=tell) as machine,
        bench_on(machine, of.trials, of.capture) as bench,
    ):
        yield bench


@dataclass(frozen=True)
class ConfirmTask:
    """A board, what it runs, how its bench is opened, and the random seed of its orders."""

    target: str
    of: Subject
    open_bench: OpenBench
    seed: str | None

    def serve(self, link: Link) -> None:
        """Make the pairs that are due."""
        of = self.of
        with self.open_bench(self.target, of, link.tell) as bench:
            if not of.force:
                check_board(bench, of.capture)
            windows = choose_windows(bench, of.capture, of.proposal, of.row, of.scenario)
            check_loads(bench, [of.scenario])
            link.send(Opened(_known(bench, windows)))
            made = PairedRuns(bench, windows, self.seed)
            while True:
                link.receive()
                link.send(Made(_pair(made, link)))


def _known(bench: TrialBench, windows: Windows) -> ComparedBoard:
    return ComparedBoard(
        bench.kernel,
        bench.machine,
        bench.model,
        bench.page_bytes,
        tuple(bench.disks),
        windows,
        tuple(bench.notes),
    )


def _pair(made: PairedRuns, link: Link) -> MadePair:
    """Make a pair, again if it is disturbed; the first run of the board is discarded."""

    def ran(which: int, seconds: float) -> None:
        link.send(Ran(Run(which, seconds, made.runs)))

    if not made.runs:
        made.discard_first()
    pair = None
    while pair is None:
        pair = made.pair(ran)
    return MadePair(pair, made.runs, made.disturbed, tuple(made.notes))
