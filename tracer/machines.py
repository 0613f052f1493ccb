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

from msgspec import structs

from foreread.boards.device import Devices
from foreread.boards.target import LocalTarget, Target
from foreread.tracer.backends.base import Backend
from foreread.tracer.backends.select import AUTO, choose
from foreread.tracer.error import RecordError
from foreread.tracer.formats import capture as capture_files
from foreread.tracer.formats.capture import Capture, Metadata
from foreread.tracer.formats.scenario import IDLE
from foreread.tracer.formats.seen import Seen
from foreread.tracer.local.journal import restore_leftovers
from foreread.tracer.local.journal_folder import make_lock
from foreread.tracer.local.record import named_files, probed, run_here
from foreread.tracer.local.repeat import cgroups, environment, repeated
from foreread.tracer.remote.probed import Row
from foreread.tracer.remote.record import TargetRun, run_on
from foreread.tracer.remote.trials import trials_on
from foreread.tracer.runs.options import RunOptions
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
    notes, run = _prepared_here(options.run)
    with trials_on(target, replace(options, run=run), shell_here()) as bench:
        bench.notes += notes
        yield bench


def _prepared_here(run: RunOptions) -> tuple[list[str], RunOptions]:
    """Prepare this machine for a job of its shell; return notes, and the run for that job."""
    notes = unrestored(restore_leftovers())
    make_lock()
    run.executable()  # its errors are about this machine
    return notes, replace(run, cwd=run.directory())


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
        if options.scenario == IDLE and not options.is_load and options.memory_kib is None:
            return run_here(options, self.backend, output, probe_disk)
        if self.backend.name != TARGETS_BACKEND:
            what = "a load" if options.memory_kib is None else "a run with limited memory"
            raise RecordError(
                f"back-end {self.backend.name} does not record {what}",
                f"only {TARGETS_BACKEND} does: --backend {TARGETS_BACKEND}",
            )
        return _loaded_here(options, output)


@contextmanager
def _loaded_here(options: RecordOptions, output: Path) -> Iterator[_LoadedRun]:
    """Record beside a load, a load, or in a group of its own: the shell does it, as in trials."""
    notes, run = _prepared_here(options.run)
    with run_on(LocalTarget(), replace(options, run=run), output, shell_here()) as made:
        yield _LoadedRun(made, notes)


class _LoadedRun:
    """A run of this machine's shell that has ended; its disk is probed in the command's group."""

    capture: Capture

    def __init__(self, made: TargetRun, notes: list[str]) -> None:
        self._made, self._notes = made, notes
        self.trace = made.trace

    @property
    def pids(self) -> Collection[int]:
        """The command's first process."""
        return self._made.pids

    def name_files(self, seen: Seen) -> None:
        """Name the files of ``seen``, write the capture and end the job."""
        self._made.name_files(seen, named_files)
        capture = self._made.capture
        if not capture.is_load:
            capture = structs.replace(capture, environment=environment(), cgroups=cgroups())
        self._write(capture, self._notes)

    def probe_disk(self, seen: Seen, _scratch: Path) -> None:
        """Probe the disk that the command read most from."""
        self._made.options.tell("learning what requests of the disk cost, a few seconds")
        notes: list[str] = []
        disk = probed(self._made.group, Devices(), self._made.files, seen, notes)
        self._write(structs.replace(self.capture, disk=disk), notes)

    def _write(self, capture: Capture, notes: list[str]) -> None:
        self.capture = structs.replace(capture, notes=[*capture.notes, *notes])
        capture_files.write(self._made.output, self.capture, self._made.files)


@dataclass(frozen=True)
class _OnTarget:
    target: Target
    why: str = ""

    def run(
        self, options: RecordOptions, output: Path, _probe_disk: bool = True
    ) -> AbstractContextManager[TracedRun]:
        return run_on(self.target, options, output)
