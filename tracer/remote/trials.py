"""A target as the bench of trials: each is a job of its own, whose guard puts everything back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from boards.device import Disk
from boards.target import Target, TargetError
from tracer.backends.base import RecordError
from tracer.counters import Counters, change, parse_counters
from tracer.journal import unrestored
from tracer.knobs import check_knob
from tracer.load import words
from tracer.remote import guarded_run
from tracer.remote.bios import parse_sums
from tracer.remote.guarded_run import (
    NotOverError,
    losing_no_target,
    pass_on_output,
    run_to_end,
    settings,
)
from tracer.remote.job import Fact, Job, making_sense
from tracer.remote.machine import Machine
from tracer.remote.run_facts import Lines, RunFacts, Setting, by_key
from tracer.run import exit_notes, living_notes
from tracer.trial import (
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
)

PARTS = (*guarded_run.PARTS, "bios.sh", "measure.sh")
BIOS_KIB = 128  # of trace, per CPU: some 2,000 bios
_PATTERN = re.compile(r"[\w./*:!,+@=-]+", re.ASCII)  # of knobs, which the target's shell expands


@contextmanager
def trials_on(
    target: Target, options: TrialOptions, shell: Sequence[str] = ("sh",)
) -> Iterator[TargetTrials]:
    """Yield ``target`` as a bench. Raises RecordError, and TargetError if it is out of reach."""
    guarded_run.check(options.run)
    with losing_no_target() as told, Job(target, PARTS, shell) as job:
        told.append(job)
        machine = Machine.parse(job.ask("probe", step="asking the target what it is"))
        job.saw_clock(machine.uptime_s)
        with machine.devices() as devices:
            executable = _executable(job, machine, options)
            disks = disks_to_tune(options, devices, executable)
            mounted = mounted_on(disks, devices, executable)
            windows = devices.read_ahead_knobs(disks)
            counted = disks_to_count(disks, devices)
            known = [devices.disk(name) for name in disks]
        bench = TargetTrials(job, machine, options, known, windows, counted, mounted)
        try:
            yield bench
        finally:
            bench.close()


def _executable(job: Job, machine: Machine, options: TrialOptions) -> Path:
    job.settings(settings(machine, options.run, options.wait_s), options.run.command)
    found = job.ask("locate", step="looking for the command")
    if len(found) != 1 or not found[0].value.startswith("/"):
        raise RecordError("the target does not say where the command is", "give its path")
    return Path(found[0].value)


class TargetTrials:
    """A bench as ``tracer.trial.TrialBench`` describes it."""

    def __init__(
        self,
        job: Job,
        machine: Machine,
        options: TrialOptions,
        disks: list[Disk],
        windows: list[str],
        counted: list[str],
        mounted: str,
    ) -> None:
        self.kernel = machine.kernel
        self.page_bytes = machine.page_size
        self.machine = machine.machine
        self.model = machine.cpu_model
        self.disks = [disk.name for disk in disks]
        self.known = disks
        self.windows = windows
        self.mounted = mounted
        self.notes: list[str] = []
        self._first = job  # whose script the others copy
        self._machine = machine
        self._options = options
        self._counted = counted

    def close(self) -> None:
        """End the job whose script was copied, if it is not the caller's."""
        self._first.finish()

    def probe(self, knobs: Sequence[str]) -> dict[str, str]:
        """Return what each knob that can be read says; patterns as in TrialBench."""
        for knob in knobs:
            check_knob(knob)
            if not _PATTERN.fullmatch(knob):
                raise RecordError(f"{knob!r} is no pattern of knobs", "name the knob itself")
        with self._job() as job:
            job.settings(self._settings(Trial(), job), self._options.run.command)
            answer = job.ask("knobs", *knobs, step="reading the target's knobs")
        found: dict[str, str] = {}
        for knob, _, text in (fact.value.partition("\t") for fact in answer if fact.key == "is"):
            found.setdefault(knob, text)
        return found

    def announce(self, trials: Sequence[Trial]) -> None:
        """Do nothing yet."""

    def run(self, trial: Trial) -> Outcome:
        """Make one trial; raises TargetError when the target is lost meanwhile."""
        try:
            with self._job() as job:
                return self._run(trial, job)
        except NotOverError as error:
            return Outcome("hung", notes=(str(error),))
        except RecordError as error:
            if not self._has_restarted():
                raise
            raise TargetError("the target has restarted", "see on its console why") from error

    def _has_restarted(self) -> bool:
        """Return whether what was in the target's memory is gone, or cannot be asked for."""
        try:
            return self._first.target.run(["ls", f"{self._first.folder}/job.sh"]).status != 0
        except TargetError:
            return True

    def _run(self, trial: Trial, job: Job) -> Outcome:
        job.settings(self._settings(trial, job), self._options.run.command)
        if trial.scenario.kind != "idle":
            job.bring("load.sh")
        run_to_end(job, self._options.limit_s)
        facts = job.ask("result", step="fetching the result")
        lines = by_key(facts)
        with making_sense("what became of its knobs"):
            setting = Setting.parse(lines)
        changed = displaced(setting.taken, setting.in_force)
        if refused := setting.refused | changed:
            notes = [
                *lines["note"],
                *setting.notes,
                *(f"{knob} was not in force: {why}" for knob, why in changed.items()),
                *unrestored(setting.restored),
            ]
            return Outcome("refused", None, setting.in_force, refused, notes=tuple(notes))
        pass_on_output(job, self._options.run.streams)
        return self._outcome(facts, lines, setting, trial.scenario)

    def _outcome(
        self, facts: list[Fact], lines: Lines, setting: Setting, scenario: Scenario
    ) -> Outcome:
        run = RunFacts.parse(facts, self._machine)
        with making_sense("what it counted"):
            seen = _seen(lines)
        warm = not (run.cold.proven or self._options.run.allow_warm)
        notes = [
            *exit_notes(run.ended),
            *living_notes(run.by, run.living, self._options.run),
            *run.notes,
            *unrestored(run.restored),
            *lines["unloaded"],
            *([run.cold.how] if warm else []),
        ]
        return judged(
            Outcome(
                "warm" if warm else "failed" if lines["unloaded"] else "ok",
                (run.end_ns - run.start_ns) / 1e9,
                setting.in_force,
                cold=run.cold.proven,
                by=run.by,
                ended=run.ended,
                notes=tuple(notes),
            ),
            scenario,
            seen,
        )

    def _settings(self, trial: Trial, job: Job) -> dict[str, str]:
        run, scenario = self._options.run, trial.scenario
        kind, path, mib, disk = scenario.kind, "", "0", ""
        if kind != "idle":
            with self._machine.devices() as devices:
                _, path, mib, disk = words(scenario, self._counted, devices)
        return {
            **settings(self._machine, run, self._options.wait_s, trial.settings),
            "all_knobs": "yes",
            "allow_warm": "yes",  # it is told instead
            "counted": " ".join(self._counted),
            "scenario": kind,
            "load_path": path,
            "load_mib": mib,
            "load_disk": disk,
            "watched": " ".join(self._counted) if self._options.bios else "",
            "buffer_kib": str(BIOS_KIB),
        }

    def _job(self) -> Job:
        return Job(self._first.target, PARTS, self._first.shell, like=self._first)


def _seen(lines: Lines) -> Seen:
    """Return what was counted, and what the command and the load have read."""
    look, before, after = (_counters(lines[key]) for key in ("look", "before", "after"))
    read: dict[str, int] = {"before": 0, "after": 0}
    for line in lines["io"]:
        key, number = line.split(" ")
        read[key] += int(number)
    own = read["after"] - read["before"] if lines["io"] else None
    sums = [parse_sums(line) for line in lines["bios"]]
    bios = {f"io_{name}": float(number) for one in sums for name, number in one.items()}
    return Seen(change(look, before), {**change(before, after), **bios}, own)


def _counters(lines: list[str]) -> Counters:
    texts: dict[str, str] = {}
    for name, _, line in (one.partition(" ") for one in lines):
        texts[name] = f"{texts.get(name, '')}{line}\n"
    return parse_counters(texts)
