"""A bench of trials as the evaluator of a campaign: settings written for genes, seconds read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

from analyzer.tuner.evaluation import Attempt, TargetGone
from analyzer.tuner.genes import Chromosome, Space
from boards.emulated.error import BoardError
from boards.target import TargetError
from tracer.backends.base import RecordError
from tracer.interrupts import Interrupted
from tracer.trial import Scenario, Trial, TrialBench

OpenBench = Callable[[], AbstractContextManager[TrialBench]]


class TrialEvaluator:
    """Makes a trial of each chromosome; a context manager that closes the bench.

    A target that is lost in a trial costs that one; for the next, the bench is opened anew.
    """

    def __init__(self, open_bench: OpenBench) -> None:
        self.space = Space(())
        self.scenarios: Mapping[str, Scenario] = {}
        self._open_bench = open_bench
        self._opened: AbstractContextManager[TrialBench] | None = None
        self._bench: TrialBench | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    @property
    def bench(self) -> TrialBench:
        """The bench, opened if it is not; raises what opening it does."""
        if self._bench is None:
            opened = self._open_bench()
            self._bench = opened.__enter__()
            self._opened = opened
        return self._bench

    def evaluate(self, chromosome: Chromosome, scenario: str) -> Attempt:
        """Make one trial; raises TargetGone when the target is lost."""
        try:
            bench = self.bench
            settings = self.space.settings(chromosome, bench.disks)
            outcome = bench.run(Trial(tuple(settings), self.scenarios[scenario]))
        except Interrupted:
            raise
        except (TargetError, BoardError, RecordError) as error:
            self._give_up()
            raise TargetGone(str(error)) from error
        metrics = dict(outcome.counters)
        if outcome.seconds is not None:
            metrics["seconds"] = outcome.seconds  # phenotypes take counters by it
        return Attempt(outcome.status, outcome.seconds, metrics, outcome.notes)

    def _give_up(self) -> None:
        """Close a bench that may be out of reach; it is the loss that is told, not this."""
        try:
            self._close()
        except (TargetError, BoardError, RecordError, OSError):
            self._bench = self._opened = None

    def _close(self) -> None:
        opened, self._opened, self._bench = self._opened, None, None
        if opened is not None:
            opened.__exit__(None, None, None)
