"""A bench of trials as the evaluator of a campaign: settings written for genes, seconds read."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from types import TracebackType
from typing import Self

from foreread.analyzer.tuner.campaign.attempts import CampaignError
from foreread.analyzer.tuner.evaluation import Attempt, TargetGone
from foreread.analyzer.tuner.space.genes import Chromosome, Space
from foreread.boards.base.silent import silent
from foreread.boards.emulated.error import BoardError
from foreread.boards.profile import ProfileError
from foreread.boards.target import TargetError
from foreread.tracer.error import RecordError
from foreread.tracer.trials.changed import ChangedKnobError
from foreread.tracer.trials.trial import Outcome, Scenario, Trial, TrialBench, check_loads

Opening = Callable[[], AbstractContextManager[TrialBench]]
BACK_S = 300.0  # how long a target that was lost, or hangs, is waited for
_AGAIN_S = 2.0
_RESET_S = 120.0  # how long its command may take
# Exceptions of opening a bench: a started board that has ended is a missing profile.
_CLOSED = (TargetError, BoardError, RecordError, ProfileError)


class TrialEvaluator:
    """Makes a trial of each chromosome; a context manager that closes the bench.

    A trial in which the target was lost or hung fails. Then the target is reset by the
    command ``reset`` of this machine, if there is one, and the bench is opened anew once it is
    back; CampaignError if it does not come back.
    """

    def __init__(
        self,
        opening: Opening,
        reset: Sequence[str] = (),
        tell: Callable[[str], None] = silent,
    ) -> None:
        self.space = Space(())
        self.scenarios: Mapping[str, Scenario] = {}
        self._opening = opening
        self._reset = reset
        self._tell = tell
        self._opened: AbstractContextManager[TrialBench] | None = None
        self._bench: TrialBench | None = None
        self._tried_loads = False
        self._lost = ""  # how the target was lost, until it is back

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
        """The bench, opened if necessary; raises the errors of opening.

        When it is opened for the first time, RecordError for a load that does not run.
        """
        if self._bench is None:
            opened = self._opening()
            self._bench = opened.__enter__()
            self._opened = opened
            if not self._tried_loads:
                check_loads(self._bench, self.scenarios.values())
                self._tried_loads = True
        return self._bench

    @property
    def is_lost(self) -> bool:
        """Whether the target was lost or hung in the last trial, and is not back."""
        return bool(self._lost)

    def evaluate(self, chromosome: Chromosome, scenario: str) -> Attempt:
        """Make one trial; raises TargetGone when the target is lost in it.

        Raises CampaignError if another program keeps changing its settings, and if the load of the
        scenario has ended and cannot be run again.
        """
        if self._lost:
            self.wait_until_back()
        bench = self.bench
        settings = self.space.settings(chromosome, bench.disks)
        try:
            outcome = self._made(bench, Trial(tuple(settings), self.scenarios[scenario]))
        except (TargetError, BoardError) as error:
            self._give_up(str(error))
            raise TargetGone(str(error)) from error
        except ChangedKnobError as error:
            again = "then repeat the command line with --resume"
            raise CampaignError(str(error), f"{error.remedy}; {again}") from error
        for note in outcome.repeated:
            self._tell(note)
        if outcome.status == "hung":
            self._give_up("; ".join(outcome.notes))
        metrics = dict(outcome.counters)
        if outcome.seconds is not None:
            metrics["seconds"] = outcome.seconds  # phenotypes take counters by it
        notes = (*outcome.notes, *outcome.repeated)
        return Attempt(outcome.status, outcome.seconds, metrics, notes)

    def _made(self, bench: TrialBench, trial: Trial) -> Outcome:
        """Make a trial.

        Raises CampaignError if its load does not run with the machine's settings, either.
        """
        try:
            outcome = bench.run(trial)
        except ChangedKnobError:
            raise
        except RecordError as error:
            outcome = Outcome("failed", notes=(str(error),), unloaded=(str(error), error.remedy))
        if outcome.unloaded is not None:
            try:
                check_loads(bench, [trial.scenario])
            except RecordError as error:
                again = "then repeat the command line with --resume"
                raise CampaignError(str(error), f"{error.remedy}; {again}") from error
        return outcome

    def _give_up(self, why: str) -> None:
        """Close the bench, and reset the target, which may be out of reach."""
        self._lost = why or "it hung"
        self._drop()
        if self._reset:
            self._run_reset()

    def wait_until_back(self) -> None:
        """Return once the bench is open again and its knobs can be locked.

        Raises CampaignError if that is not so after BACK_S.
        """
        self._tell(f"waiting up to {BACK_S:g} s for the target: {self._lost}")
        deadline = time.monotonic() + BACK_S
        while True:
            try:
                self.bench.probe(())
                break
            except _CLOSED as error:
                self._drop()
                if time.monotonic() > deadline:
                    raise CampaignError(
                        f"the target is not back {BACK_S:g} s after a trial: {error}",
                        "see its console for the reason, restart it, then repeat the command "
                        "with --resume; "
                        "with --reset COMMAND foreread restarts it",
                    ) from error
                time.sleep(_AGAIN_S)
        self._lost = ""

    def _drop(self) -> None:
        """Close a bench that may be out of reach; the loss is reported, not this."""
        with suppress(*_CLOSED, OSError):
            self._close()

    def _close(self) -> None:
        opened, self._opened, self._bench = self._opened, None, None
        if opened is not None:
            opened.__exit__(None, None, None)

    def _run_reset(self) -> None:
        """Run the user's command, and say when it fails: whether the target comes back is seen."""
        self._tell(f"resetting the target: {shlex.join(self._reset)}")
        try:
            subprocess.run(
                self._reset, stdin=subprocess.DEVNULL, stdout=2, timeout=_RESET_S, check=True
            )
        except (OSError, subprocess.SubprocessError) as error:
            self._tell(f"the reset failed: {error}")
