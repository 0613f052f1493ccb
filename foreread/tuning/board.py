"""One of several boards of ``tune``, in a process of its own (benches/process.py)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from foreread.analyzer.tuner.campaign.attempts import Due, evaluated
from foreread.analyzer.tuner.space.genes import Space
from foreread.analyzer.tuner.store.records import Board
from foreread.benches.messages import Back, Completed, Link, Opened
from foreread.benches.opened import OpenBench
from foreread.boards.base.interrupts import Interrupted
from foreread.checks import key_of
from foreread.tracer.trials.trial import Scenario, TrialOptions
from foreread.tuning.campaign import board_of, space_on
from foreread.tuning.evaluator import TrialEvaluator
from foreread.tuning.options import TuneOptions


@dataclass(frozen=True)
class TunedBoard:
    """The description of a board with an open bench, and its genes."""

    board: Board
    space: Space
    notes: tuple[str, ...]


@dataclass(frozen=True)
class TuneTask:
    """The options with the board's own target, and how its bench is opened."""

    options: TuneOptions
    trials: TrialOptions
    scenarios: Mapping[str, Scenario]
    open_bench: OpenBench

    @property
    def target(self) -> str:
        """The board, as it was named."""
        return self.options.target

    def serve(self, link: Link) -> None:
        """Make the attempts that are due, of chromosomes of the space that is received first."""
        identity = key_of(self.options.identity)
        opening = partial(self.open_bench, self.target, identity, self.trials, link.tell)
        with TrialEvaluator(opening, self.options.reset, link.tell) as evaluator:
            evaluator.scenarios = self.scenarios
            bench = evaluator.bench
            space = space_on(self.options, bench, link.tell)
            board = board_of(self.options, bench)
            link.send(Opened(TunedBoard(board, space, tuple(bench.notes))))
            evaluator.space = link.receive()
            while True:
                _make(link.receive(), evaluator, link)


def _make(due: Due, evaluator: TrialEvaluator, link: Link) -> None:
    evaluation = evaluated(evaluator, due, (Interrupted, KeyboardInterrupt))
    link.send(Completed(evaluation, evaluator.is_lost))
    if evaluator.is_lost:
        evaluator.wait_until_back()
        link.send(Back())
