"""Measures workloads by fio under settings, each as a trial of this machine."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from loop_disk import LoopDisk

from boards.target import LocalTarget
from tracer.command import Streams
from tracer.local_trials import LocalTrials, local_trials
from tracer.run import RunOptions
from tracer.trial import Trial, TrialOptions
from tracer.workload import Done, Ground, Workload, give, lay_out, take, words

_TRIES = 3  # of a run that somebody else disturbed
_WAIT_S = 600.0
_ENDS_S = 60.0  # that a run takes longer than fio is asked to


class WorkloadBench:
    """``statuses`` counts what became of the trials; ``kept`` are the statuses that count."""

    def __init__(
        self, trials: LocalTrials, ground: Ground, seconds: float, kept: Collection[str]
    ) -> None:
        self.trials = trials
        self.statuses: Counter[str] = Counter()
        self._ground, self._seconds, self._kept = ground, seconds, kept
        self._target = LocalTarget()

    def run(self, settings: Sequence[tuple[str, str]], workload: Workload) -> Done | None:
        """Run ``workload`` cold under ``settings``; None if it cannot be had undisturbed."""
        for _ in range(_TRIES):
            give(self._target, self._ground, workload, self._seconds)
            outcome = self.trials.run(Trial(tuple(settings)))
            self.statuses[outcome.status] += 1
            if outcome.status in self._kept:
                return take(self._target, self._ground)
            if outcome.status == "refused":
                break
        return None


@contextmanager
def workload_bench(
    disk: LoopDisk, mib: int, seconds: float, contended: bool = False
) -> Iterator[WorkloadBench]:
    """Yield a bench for workloads of so many seconds on a file of ``mib`` MiB on ``disk``.

    ``contended``: runs that others disturbed count, too: to try the study, not to conclude.
    """
    kept = ("ok", "contended") if contended else ("ok",)
    with tempfile.TemporaryDirectory(prefix="foreread-study-", dir="/run") as folder:
        ground = Ground(str(disk.folder / "data"), mib << 20, folder)
        lay_out(LocalTarget(), ground)
        with Path(os.devnull).open("wb") as nowhere:
            streams = Streams(stdout=nowhere.fileno(), stderr=nowhere.fileno())
            run = RunOptions([*disk.joining, *words(ground)], streams=streams)
            limit_s = seconds + _ENDS_S
            options = TrialOptions(run, (disk.name,), wait_s=_WAIT_S, limit_s=limit_s)
            with local_trials(options) as trials:
                yield WorkloadBench(trials, ground, seconds, kept)
