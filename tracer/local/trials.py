"""This machine as the bench of trials."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from boards.device import Devices
from boards.remount import alternatives, is_mount_option
from boards.target import LocalTarget
from tracer.interrupts import uninterrupted
from tracer.local.changed import WATCH_S, Change, changes, overridden
from tracer.local.journal import Journal, restore_leftovers, unrestored
from tracer.local.knobs import KnobRefused, is_scheduler, read_knob, selected
from tracer.local.load import running
from tracer.local.metadata import local_cpu_model
from tracer.local.run import NotColdError, RunOptions, run_cold
from tracer.local.trial import (
    Outcome,
    Scenario,
    Trial,
    TrialOptions,
    displaced,
    judged,
    offered,
    unless_changed,
)
from tracer.local.trial_start import Start
from tracer.local.tuned_disks import disks_to_count, disks_to_tune, mounted_on


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
        self._expected: dict[str, str] = {}  # by knob, while a trial is made

    def probe(self, knobs: Sequence[str]) -> dict[str, str]:
        """Return the value of each knob that can be read; patterns as in TrialBench."""
        found = _read(knobs)
        try:
            for scheduler in [knob for knob in found if is_scheduler(knob)]:
                for name in offered(found[scheduler]):
                    with suppress(OSError, KnobRefused):  # listed, but its module is missing
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
        except (OSError, KnobRefused):
            return False

    def check_load(self, scenario: Scenario) -> None:
        """Run the load of a scenario until it is seen to be effective; raises RecordError."""
        with running(scenario, self._counted, self._devices) as load:
            load.prove()

    def announce(self, trials: Sequence[Trial]) -> None:
        """Do nothing: here a trial begins when it is made."""

    def run(self, trial: Trial) -> Outcome:
        """Make one trial; everything it changes is restored at its end."""
        return unless_changed(lambda: self._once(trial))

    def _once(self, trial: Trial) -> Outcome:
        done = len(self._journal.restored)
        try:
            outcome = self._run(trial)
        finally:
            self._restore()
        problems = unrestored(self._journal.restored[done:])
        return replace(outcome, notes=(*outcome.notes, *problems))

    def _restore(self) -> None:
        """Restore all knobs, except those that another program has set since."""
        with uninterrupted():
            expected, self._expected = self._expected, {}
            for change in changes(expected, _values(expected)):
                if change.found:
                    self._journal.leave(change.knob, change.found)
            self._journal.restore()

    def _run(self, trial: Trial) -> Outcome:
        setting = self._set(trial.settings)
        notes = setting.notes
        if setting.changed:
            return Outcome("contended", changed=tuple(setting.changed))
        if setting.refused:
            notes += [f"{knob} was refused: {why}" for knob, why in setting.refused.items()]
            return Outcome(
                "refused",
                in_force=setting.in_force,
                refused=setting.refused,
                notes=tuple(notes),
            )
        try:
            with ExitStack() as stack:
                start = Start(trial.scenario, self._counted, self._devices, stack)
                run = run_cold(
                    self._limited(),
                    start.begin,
                    start.end,
                    begin_counting=start.begin_counting,
                    joined=None if trial.scenario.kind == "idle" else start.join,
                )
        except NotColdError as error:
            return Outcome("warm", in_force=setting.in_force, notes=(*notes, str(error)))
        lapsed = start.lapsed
        hung = run.over.by == "duration" and self._options.run.ending.duration_s is None
        return judged(
            Outcome(
                "hung" if hung else "failed" if lapsed else "ok",
                run.seconds,
                setting.in_force,
                cold=run.cold.proven,
                by=run.over.by,
                ended=run.ended,
                notes=(*run.notes, *start.notes, *notes),
                changed=tuple(changes(setting.in_force, _values(setting.in_force))),
                unloaded=(str(lapsed), lapsed.remedy) if lapsed else None,
            ),
            trial.scenario,
            start.seen(),
        )

    def _set(self, settings: Sequence[tuple[str, str]]) -> _Setting:
        """Set the knobs; again, if one of them does not have its value when all are set."""
        setting = self._written(settings)
        if not setting.refused and (setting.changed or setting.displaced):
            setting = self._written(settings)
            setting.changed += self._moving(setting)
        setting.refused |= setting.displaced
        self._expected = setting.in_force | {one.knob: one.expected for one in setting.changed}
        return setting

    def _written(self, settings: Sequence[tuple[str, str]]) -> _Setting:
        """Set the knobs, each once, and read them back."""
        values, refused, notes = {}, {}, []
        for knob, value in settings:
            try:
                taken = self._journal.set(knob, value)
            except (OSError, KnobRefused) as error:
                refused[knob] = getattr(error, "strerror", None) or str(error)
                continue
            values[knob] = taken
            if taken != value:
                notes.append(f"{knob}: the kernel made {value} to {taken}")
        in_force = _values([knob for knob, _ in settings])
        away = displaced(values, in_force)
        others = overridden(settings, values, self.page_bytes)
        return _Setting(values, in_force, refused, away, notes, others)

    def _moving(self, setting: _Setting) -> list[Change]:
        """Return the displaced knobs that change while this side writes nothing."""
        if not setting.displaced:
            return []
        # What is read back when it is set may be the other program's already.
        alone = {knob: setting.taken[knob] for knob in setting.displaced}
        for knob, value in alone.items():
            self._journal.set(knob, value)
        time.sleep(WATCH_S)
        return changes(alone, _values(alone))

    def _limited(self) -> RunOptions:
        """Return the options of a run that ends at the limit at the latest."""
        run = self._options.run
        limit_s = run.ending.duration_s or self._options.limit_s
        return replace(run, ending=replace(run.ending, duration_s=limit_s))


@dataclass
class _Setting:
    """What became of the settings of a trial.

    Values by knob, each when it was set, and when all were; why some were refused, or have another
    value when all are set; what other programs did meanwhile.
    """

    taken: dict[str, str]
    in_force: dict[str, str]
    refused: dict[str, str]
    displaced: dict[str, str]
    notes: list[str]
    changed: list[Change]


def _values(knobs: Iterable[str]) -> dict[str, str]:
    """Return the values in force of those knobs that can be read."""
    return {knob: selected(text) for knob, text in _read(list(knobs)).items()}


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
