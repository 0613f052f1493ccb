"""One board of ``fleet confirm``, in a process of its own (board_process.py).

It makes blocks: two pairs of opposite orders, so that a board that becomes slower or faster adds
nothing to their mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from analyzer.confirm.sequential import Pair
from analyzer.predict.proposal import Proposal
from boards.open import open_target
from foreread.advised import Advised
from foreread.board_messages import Link, Made, Opened, Ran
from foreread.compared_windows import choose_windows
from foreread.paired_runs import Order, PairedRuns, Windows
from foreread.recorded import check_board
from tracer.formats.capture import Capture
from tracer.local.trial import TrialBench, TrialOptions
from tracer.machines import bench_on


@dataclass(frozen=True)
class Block:
    """Two pairs to be made; ``first`` is the order of the first one, the other is reversed."""

    number: int
    first: Order


@dataclass(frozen=True)
class MadeBlock:
    """The seconds of a block's pairs, and what the board has made up to them."""

    pairs: tuple[Pair, ...]
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
class ComparedBoard:
    """What is known of a board once its bench is open, and the windows that it compares."""

    kernel: str
    machine: str
    model: str
    page_bytes: int
    disks: tuple[str, ...]
    windows: Windows
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Subject:
    """What all boards of a fleet run. ``force``: also on boards that are not the recorded one."""

    capture: Capture
    proposal: Proposal
    trials: TrialOptions
    row: Advised | None = None
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
    """A board, what it runs, and how its bench is opened."""

    target: str
    of: Subject
    open_bench: OpenBench

    def serve(self, link: Link) -> None:
        """Make the blocks that are due."""
        of = self.of
        with self.open_bench(self.target, of, link.tell) as bench:
            if not of.force:
                check_board(bench, of.capture)
            windows = choose_windows(bench, of.capture, of.proposal, of.row)
            link.send(Opened(_known(bench, windows)))
            made = PairedRuns(bench, windows)
            while True:
                link.send(Made(_block(link.receive(), made, link)))


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


def _block(due: Block, made: PairedRuns, link: Link) -> MadeBlock:
    """Make both pairs of a block, disturbed ones again."""

    def ran(which: int, seconds: float) -> None:
        link.send(Ran(Run(which, seconds, made.runs)))

    if not made.runs:
        made.discard_first(due.first)
    left, pairs = [due.first, (due.first[1], due.first[0])], []
    while left:
        made.announce([which for order in left for which in order])
        if (pair := made.pair(left[0], ran)) is not None:
            pairs.append(pair)
            left.pop(0)
    return MadeBlock(tuple(pairs), made.runs, made.disturbed, tuple(made.notes))
