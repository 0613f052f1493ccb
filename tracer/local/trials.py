"""This machine as the bench of trials."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from boards.device import Devices
from boards.remount import alternatives, is_mount_option
from boards.target import LocalTarget
from tracer.error import RecordError
from tracer.local.command import family
from tracer.local.counters import change, read_counters
from tracer.local.journal import Journal, restore_leftovers, unrestored
from tracer.local.knobs import is_scheduler, read_knob, selected
from tracer.local.load import Load, running
from tracer.local.metadata import local_cpu_model
from tracer.local.run import NotColdError, RunOptions, run_cold
from tracer.local.trial import (
    LOOK_S,
    Outcome,
    Scenario,
    Seen,
    Trial,
    TrialOptions,
    disks_to_count,
    disks_to_tune,
    displaced,
    judged,
    mounted_on,
    offered,
)

_READINGS = 3


@contextmanager
def local_trials(options: TrialOptions) -> Iterator[LocalTrials]:
    """Yield this machine as a bench that owns its knobs. Raises RecordError."""
    left = restore_leftovers()
    devices = Devices()
    executable = options.run.executable()
    disks = disks_to_tune(options, devices, executable)
    mounted = mounted_on(disks, devices, executable.resolve())
    with Journal(wait_s=options.wait_s) as journal:
        notes = unrestored([*left, *journal.leftovers])
        yield LocalTrials(options, journal, devices, disks, mounted, notes)


class LocalTrials:
    """A bench as ``tracer.local.trial.TrialBench`` describes it."""

    def __init__(
        self,
        options: TrialOptions,
        journal: Journal,
        devices: Devices,
        disks: list[str],
        mounted: str,
        notes: list[str],
    ) -> None:
        self.kernel = os.uname().release
        self.page_bytes = os.sysconf("SC_PAGE_SIZE")
        self.machine = os.uname().machine
        self.model = local_cpu_model()
        self.disks = disks
        self.known = [devices.disk(name) for name in disks]
        self.mounted = mounted
        self.notes = notes
        self.windows = devices.read_ahead_knobs(disks)
        self._options = options
        self._journal = journal
        self._devices = devices
        self._counted = disks_to_count(disks, devices)

    def probe(self, knobs: Sequence[str]) -> dict[str, str]:
        """Return the value of each knob that can be read; patterns as in TrialBench."""
        found = _read(knobs)
        try:
            for scheduler in [knob for knob in found if is_scheduler(knob)]:
                for name in offered(found[scheduler]):
                    with suppress(OSError):  # listed, but its module is missing
                        self._journal.set(scheduler, name)
                        found |= {k: v for k, v in _read(knobs).items() if k not in found}
            for option in [knob for knob in found if is_mount_option(knob)]:
                found[option] = self._choices(option)
        finally:
            self._journal.restore()
        return found

    def _choices(self, option: str) -> str:
        """Return the alternatives of a mount option that the file system accepts: "one [in
        force]"."""
        found = read_knob(LocalTarget(), option)
        taken = [word for word in alternatives(option) if self._takes(option, word)]
        return " ".join(f"[{word}]" if word == found else word for word in taken) or found

    def _takes(self, option: str, word: str) -> bool:
        try:
            return self._journal.set(option, word) == word
        except OSError:
            return False

    def announce(self, trials: Sequence[Trial]) -> None:
        """Do nothing: here a trial begins when it is made."""

    def run(self, trial: Trial) -> Outcome:
        """Make one trial; everything it changes is restored at its end."""
        done = len(self._journal.restored)
        try:
            outcome = self._run(trial)
        finally:
            self._journal.restore()
        problems = unrestored(self._journal.restored[done:])
        return replace(outcome, notes=(*outcome.notes, *problems))

    def _run(self, trial: Trial) -> Outcome:
        in_force, refused, notes = self._set(trial.settings)
        if refused:
            notes += [f"{knob} was refused: {why}" for knob, why in refused.items()]
            return Outcome("refused", in_force=in_force, refused=refused, notes=tuple(notes))
        try:
            with ExitStack() as stack:
                start = _Start(trial.scenario, self._counted, self._devices, stack)
                run = run_cold(self._limited(), start.begin, start.end)
        except NotColdError as error:
            return Outcome("warm", in_force=in_force, notes=(*notes, str(error)))
        hung = run.over.by == "duration" and self._options.run.ending.duration_s is None
        return judged(
            Outcome(
                "hung" if hung else "failed" if start.lapsed else "ok",
                run.seconds,
                in_force,
                cold=run.cold.proven,
                by=run.over.by,
                ended=run.ended,
                notes=(*run.notes, *start.lapsed, *notes),
            ),
            trial.scenario,
            start.seen(),
        )

    def _set(
        self, settings: Sequence[tuple[str, str]]
    ) -> tuple[dict[str, str], dict[str, str], list[str]]:
        """Set the knobs; return the values in force, why some were refused, and notes."""
        values, refused, notes = {}, {}, []
        for knob, value in settings:
            try:
                taken = self._journal.set(knob, value)
            except OSError as error:
                refused[knob] = error.strerror or str(error)
                continue
            values[knob] = taken
            if taken != value:
                notes.append(f"{knob}: the kernel made {value} to {taken}")
        in_force = {knob: selected(text) for knob, text in _read([k for k, _ in settings]).items()}
        return in_force, refused | displaced(values, in_force), notes

    def _limited(self) -> RunOptions:
        """Return the options of a run that ends at the limit at the latest."""
        run = self._options.run
        limit_s = run.ending.duration_s or self._options.limit_s
        return replace(run, ending=replace(run.ending, duration_s=limit_s))


class _Start:
    """The steps around the start: the load, the check, the counters."""

    def __init__(
        self, scenario: Scenario, counted: list[str], devices: Devices, stack: ExitStack
    ) -> None:
        self._scenario = scenario
        self._counted = counted
        self._devices = devices
        self._stack = stack
        self._load = Load()
        self._counts: list[dict[str, float]] = []
        self._own: list[int | None] = []
        self.lapsed: list[str] = []  # why the load did not last until the end

    def begin(self) -> None:
        """Start the load, check the machine's activity, and read the counters."""
        self._load = self._stack.enter_context(
            running(self._scenario, self._counted, self._devices)
        )
        self._load.prove()
        self._count()
        time.sleep(LOOK_S)
        self._own.append(min(_own_bytes(), default=None))
        self._count()

    def end(self) -> None:
        """Read the counters again, and check that the load still runs."""
        self._count()
        self._own.append(max(_own_bytes(), default=None))
        try:
            self._load.prove()
        except RecordError as error:
            self.lapsed.append(str(error))

    def seen(self) -> Seen:
        """Return the counters."""
        look, begin, end = self._counts
        before, after = self._own
        own = None if before is None or after is None else after - before
        return Seen(change(look, begin), change(begin, end), own)

    def _count(self) -> None:
        self._counts.append(read_counters(self._counted))


def _own_bytes() -> list[int]:
    """Return the bytes that this process, its ended and its living children read from disks.

    Counted several times, since a process that ends during the count is missed or counted twice.
    The minimum is taken before the disks are counted, and the maximum after it, so that no read of
    our own is taken for somebody else's. Empty without CONFIG_TASK_IO_ACCOUNTING.
    """
    try:
        return [sum(map(_read_bytes, (os.getpid(), *family()))) for _ in range(_READINGS)]
    except OSError:
        return []


def _read_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        if pid == os.getpid():
            raise
        return 0  # it has just ended
    return next(int(line.split()[1]) for line in lines if line.startswith("read_bytes:"))


def _read(knobs: Sequence[str]) -> dict[str, str]:
    """Return the values of those knobs that are there and can be read, by path."""
    found = {}
    for pattern in knobs:
        if is_mount_option(pattern):
            with suppress(OSError):
                found[pattern] = read_knob(LocalTarget(), pattern)
            continue
        for path in sorted(Path("/").glob(pattern.lstrip("/"))):
            with suppress(OSError):
                found[str(path)] = path.read_text(errors="replace").rstrip("\n")
    return found
