"""This machine or a target: the bench of trials and the recorder of either.

What the two have in common is decided here once, so that a command never asks which it has.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from foreread.boards.target import LocalTarget, Target
from foreread.tracer.backends.base import Backend
from foreread.tracer.backends.select import AUTO, choose
from foreread.tracer.error import RecordError
from foreread.tracer.formats.capture import Capture, Metadata
from foreread.tracer.formats.seen import Seen
from foreread.tracer.local.journal import restore_leftovers
from foreread.tracer.local.journal_folder import make_lock
from foreread.tracer.local.record import run_here
from foreread.tracer.local.repeat import repeated
from foreread.tracer.remote.probed import Row
from foreread.tracer.remote.record import run_on
from foreread.tracer.remote.trials import trials_on
from foreread.tracer.runs.recording import RecordOptions
from foreread.tracer.runs.restored import unrestored
from foreread.tracer.trials.trial import TrialBench, TrialOptions

TARGETS_BACKEND = "tracefs"


class ProbedDisk(Protocol):
    """A traced run that read a disk: the timed reads in its trace complete the probe."""

    @property
    def dev(self) -> str:
        """The disk, "major:minor"."""

    @property
    def trace(self) -> Path:
        """The trace directory to read."""

    def store(self, own: Sequence[Row], rows: Sequence[Row]) -> None:
        """Add the probe to the capture: from its own timed reads and this run's."""

    def fail(self, error: BaseException) -> None:
        """Note in the capture why its disk was not probed."""


class TracedRun(Protocol):
    """A run that has ended. Its trace is read, then its files are named, then its disk probed."""

    trace: Path
    capture: Capture  # once its files have names

    @property
    def pids(self) -> Collection[int]:
        """The processes whose reads, and whose descendants' reads, are the command's."""

    def name_files(self, seen: Seen) -> None:
        """Name the files in the trace."""

    def probe_disk(self, seen: Seen, scratch: Path) -> ProbedDisk | None:
        """Probe the disk read most; a run that is returned has a trace to read in ``scratch``."""


class Recorder(Protocol):
    """Records one cold run; ``why`` is empty where there was no choice of a recorder."""

    @property
    def why(self) -> str:
        """Why this recorder was chosen."""

    def run(
        self, options: RecordOptions, output: Path, probe_disk: bool = True
    ) -> AbstractContextManager[TracedRun]:
        """Make the run; the block names its files and, with ``probe_disk``, probes its disk.

        Raises RecordError, and TargetError where the target is out of reach.
        """


@contextmanager
def bench_on(
    target: Target, options: TrialOptions, like: Metadata | None = None
) -> Iterator[TrialBench]:
    """Yield ``target`` as a bench of trials; no other foreread changes its settings meanwhile.

    ``like``: on this machine the runs get the environment and the control groups of this capture's
    run; a target's commands have the environment of its shell, now as then. Raises RecordError and
    TargetError.
    """
    if not isinstance(target, LocalTarget):
        with trials_on(target, options) as bench:
            yield bench
        return
    again = nullcontext() if like is None else repeated(like.environment, like.cgroups)
    with again, trials_here(target, options) as bench:
        yield bench


@contextmanager
def trials_here(target: Target, options: TrialOptions) -> Iterator[TrialBench]:
    """Yield this machine as a bench; it shares guards and locks with all forereads here."""
    notes = unrestored(restore_leftovers())
    make_lock()
    options.run.executable()  # its errors are about this machine
    run = replace(options.run, cwd=options.run.directory())
    with trials_on(target, replace(options, run=run), shell_here()) as bench:
        bench.notes += notes
        yield bench


def shell_here() -> tuple[str, ...]:
    """Return the words that start this machine's shell.

    busybox has one that waits without starting a program, which would read from the disk during a
    run.
    """
    return ("busybox", "sh") if shutil.which("busybox") else ("sh",)


def recorder_for(target: Target, backend: str = AUTO) -> Recorder:
    """Return what records on ``target``; ``backend``: auto, tracefs, trace-cmd or perf.

    Raises RecordError for a back-end that is unknown or does not work there.
    """
    if isinstance(target, LocalTarget):
        chosen, why = choose(backend)
        return _Here(chosen, why if backend == AUTO else "")
    if backend not in (AUTO, TARGETS_BACKEND):
        raise RecordError(
            f"back-end {backend} does not record a target",
            f"only {TARGETS_BACKEND} does: remove the choice of a back-end",
        )
    return _OnTarget(target)


def restore_settings(target: Target) -> list[str]:
    """Restore what a killed foreread left changed; return notes on what could not be restored.

    A target restores its settings by itself: its guard outlives the connection.
    """
    return unrestored(restore_leftovers()) if isinstance(target, LocalTarget) else []


@dataclass(frozen=True)
class _Here:
    backend: Backend
    why: str

    def run(
        self, options: RecordOptions, output: Path, probe_disk: bool = True
    ) -> AbstractContextManager[TracedRun]:
        if options.probes:
            raise RecordError(
                "kernel probes are for targets",
                "on this machine remove --probes, or add --target ssh://root@localhost",
            )
        return run_here(options, self.backend, output, probe_disk)


@dataclass(frozen=True)
class _OnTarget:
    target: Target
    why: str = ""

    def run(
        self, options: RecordOptions, output: Path, _probe_disk: bool = True
    ) -> AbstractContextManager[TracedRun]:
        return run_on(self.target, options, output)
