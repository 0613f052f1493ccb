"""A target as the bench of trials: one job there makes them all, and restores everything."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Literal

from foreread.boards.device import Disk
from foreread.boards.target import Target, TargetError
from foreread.tracer.error import RecordError
from foreread.tracer.remote import guarded_run
from foreread.tracer.remote.guarded_run import (
    NotOverError,
    executable_on,
    losing_no_target,
    settings,
    write_out,
)
from foreread.tracer.remote.job import Fact, Job, making_sense
from foreread.tracer.remote.machine import Machine
from foreread.tracer.remote.run_facts import Lines, RunFacts, Setting, by_key, seen
from foreread.tracer.remote.series import Made, Series
from foreread.tracer.runs.knobs import check_readable
from foreread.tracer.runs.memory import check_memory, memory_settings, was_killed
from foreread.tracer.runs.options import RunOptions, exit_notes, living_notes
from foreread.tracer.runs.restored import unrestored
from foreread.tracer.trials.changed import overridden
from foreread.tracer.trials.load import NO_LOAD, load_settings
from foreread.tracer.trials.trial import (
    Outcome,
    Scenario,
    Trial,
    TrialOptions,
    apart_notes,
    displaced,
    judged,
    unless_changed,
)
from foreread.tracer.trials.tuned_disks import disks_to_count, disks_to_tune, mounted_on

PARTS = (*guarded_run.PARTS, "bios.sh", "beside.sh", "measure.sh", "series.sh")
_PATIENCE_S = 120.0  # for the end of a start that is ended while it lacks memory
_KEPT_S = 60.0  # less than the lease of an idle job
_OUTPUT_BYTES = 1 << 14  # of each stream of a run that are kept: they are brought here every time
SHIM, ADVICE = "shim.so", "advice"  # the names in the job's folder (held.sh)
BIOS_KIB = 128  # of trace, per CPU: some 2,000 bios
_PATTERN = re.compile(r"[\w./*:!,+@=-]+", re.ASCII)  # of knobs, which the target's shell expands


@contextmanager
def trials_on(
    target: Target, options: TrialOptions, shell: Sequence[str] = ("sh",)
) -> Iterator[TargetTrials]:
    """Yield ``target`` as a bench. Raises RecordError, and TargetError if it is out of reach."""
    guarded_run.check(options.run)
    check_memory(options.memory_kib, options.run)
    with losing_no_target() as jobs, Job(target, PARTS, shell) as job:
        jobs.append(job)
        machine = Machine.parse(job.ask("probe", step="reading the target's facts"))
        job.saw_clock(machine.uptime_s)
        with machine.devices() as devices:
            executable = executable_on(job, machine, options.run, options.wait_s)
            disks = disks_to_tune(options, devices, executable)
            mounted = mounted_on(disks, devices, executable)
            windows = devices.read_ahead_knobs(disks)
            counted = disks_to_count(disks, devices)
            described = [devices.disk(name) for name in disks]
        bench = TargetTrials(job, machine, options, described, windows, counted, mounted)
        try:
            yield bench
        finally:
            bench.close()


class TargetTrials:
    """A bench as ``tracer.trials.trial.TrialBench`` describes it."""

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
        self._run = _within(options.run, options.most_s)
        self._counted = counted
        self._announced: list[Trial] = []
        self._series: Series | None = None
        self._opened = ExitStack()  # the job of the series
        self._has_load = False
        self._first_heard_s = time.monotonic()

    def close(self) -> None:
        """End the job that makes the trials, and the job that lends its script."""
        self._end_series()
        self._first.finish()

    def probe(self, knobs: Sequence[str]) -> dict[str, str]:
        """Return what each knob that can be read says; patterns as in TrialBench."""
        for knob in knobs:
            check_readable(knob)
            if not _PATTERN.fullmatch(knob):
                raise RecordError(f"{knob!r} is not a pattern of knobs", "name the knob itself")
        self._end_series()  # which holds the lock of the knobs
        with self._job() as job:
            job.settings(self._settings(), self._options.run.command)
            answer = job.ask("knobs", *knobs, step="reading the target's knobs")
        values: dict[str, str] = {}
        for knob, _, text in (fact.value.partition("\t") for fact in answer if fact.key == "is"):
            values.setdefault(knob, text)
        return values

    def check_load(self, scenario: Scenario) -> None:
        """Run the load of a scenario until it is seen to be effective; raises RecordError."""
        self._end_series()  # which holds the lock of the knobs
        with self._job() as job:
            variables = self._settings() | self._variables(Trial(scenario=scenario))
            job.settings(variables, self._options.run.command)
            job.bring("load.sh")
            job.ask("try_load", step=f"trying the {scenario.kind} of the scenario")

    def announce(self, trials: Sequence[Trial]) -> None:
        """Queue these trials on the target, which makes them without waiting for this side."""
        self._announced = list(trials)

    def run(self, trial: Trial) -> Outcome:
        """Make one trial; raises TargetError when the target is lost meanwhile."""
        expected = self._announced if self._announced[:1] == [trial] else [trial]
        return unless_changed(lambda: self._once(expected))

    def _once(self, expected: list[Trial]) -> Outcome:
        """Make the first of the expected trials."""
        trial, *self._announced = expected
        if refused := _refusals(trial):
            return Outcome("refused", refused=refused)
        possible = [queued for queued in expected if not _refusals(queued)]
        try:
            return self._outcome_of(self._queued(possible).fetch(self._limit_s), trial)
        except NotOverError as error:
            self._end_series()
            is_timed = self._options.most_s is not None
            return Outcome("hung", notes=(str(error),), killed="time" if is_timed else None)
        except RecordError as error:
            self._end_series()
            if not self._has_restarted():
                raise
            raise TargetError(
                "the target has restarted", "read the board's console output for the reason"
            ) from error
        except BaseException:
            self._end_series()
            raise

    @property
    def _limit_s(self) -> float | None:
        """How long this side waits for a run that the target itself ends after ``most_s``."""
        most_s = self._options.most_s
        return self._options.limit_s if most_s is None else most_s + _PATIENCE_S

    def _queued(self, trials: Sequence[Trial]) -> Series:
        """Return the series in which these trials come next."""
        if any(trial.scenario.kind != "idle" for trial in trials) and not self._has_load:
            self._end_series()
            self._has_load = True
        if self._series is not None and self._series.is_stale:
            self._end_series()
        self._keep_first()
        texts = [self._text(trial) for trial in trials]
        if self._series is not None and not self._series.expect(texts):
            self._end_series()
        if self._series is None:
            self._series = self._open_series()
            self._series.expect(texts)
        return self._series

    def _keep_first(self) -> None:
        """Renew the lease of the job that lends its script: the next foreread would remove it."""
        if time.monotonic() - self._first_heard_s > _KEPT_S:
            self._first.raw("true", step="keeping the script on the target")
            self._first_heard_s = time.monotonic()

    def _open_series(self) -> Series:
        with ExitStack() as stack:
            job = stack.enter_context(self._job())
            job.settings(self._settings(), self._options.run.command)
            if self._has_load:
                job.bring("load.sh")
            if (replayer := self._options.replayer) is not None:
                job.give("replayer", replayer.program, 0o700)
                job.give("list", replayer.listing)
            if (preload := self._options.preload) is not None:
                job.give(SHIM, preload.library, 0o755)
                job.give(ADVICE, preload.listing, 0o644)
                job.ask("check_shim", step="checking that the command loads the shim")
            series = Series(job)
            self._opened = stack.pop_all()
        return series

    def _end_series(self) -> None:
        """Have everything restored; an unreachable target does it without us."""
        self._series = None
        self._opened.close()

    def _has_restarted(self) -> bool:
        """Return whether the job's folder in the target's memory is gone, or cannot be reached."""
        try:
            return self._first.target.run(["ls", f"{self._first.folder}/job.sh"]).status != 0
        except TargetError:
            return True

    def _outcome_of(self, run: Made, trial: Trial) -> Outcome:
        lines = by_key(run.facts)
        with making_sense("reading its settings"):
            setting = Setting.parse(lines)
        others = overridden(trial.settings, setting.accepted, self.page_bytes)
        if changed := (*others, *setting.changed):
            return Outcome("contended", notes=_unrestored(setting), changed=changed)
        away = displaced(setting.accepted, setting.in_force)
        if refused := setting.refused | away:
            notes = (
                *lines["note"],
                *setting.notes,
                *(f"{knob} was not in force: {why}" for knob, why in away.items()),
                *_unrestored(setting),
            )
            return Outcome("refused", None, setting.in_force, refused, notes=notes)
        write_out(run.stdout, self._options.run.streams.stdout)
        write_out(run.stderr, self._options.run.streams.stderr)
        return self._outcome(run.facts, lines, setting, trial.scenario)

    def _outcome(
        self, facts: list[Fact], lines: Lines, setting: Setting, scenario: Scenario
    ) -> Outcome:
        run = RunFacts.parse(facts, self._machine)
        with making_sense("what it counted"):
            counted = seen(lines)
        unloaded = [tuple(why.partition("|")[::2]) for why in lines["unloaded"]]
        warm = not (run.cold.proven or self._options.run.allow_warm)
        notes = [
            *exit_notes(run.ended),
            *living_notes(run.by, run.living, self._options.run),
            *run.notes,
            *unrestored(run.restored),
            *(why for why, _ in unloaded),
            *(note for why in lines["apart"] for note in apart_notes(why)),
            *([run.cold.how] if warm else []),
        ]
        outcome = judged(
            Outcome(
                "warm" if warm else "failed" if unloaded else "ok",
                run.seconds,
                setting.in_force,
                cold=run.cold.proven,
                by=run.by,
                ended=run.ended,
                notes=tuple(notes),
                unloaded=next(((why, remedy) for why, remedy in unloaded if remedy), None),
            ),
            scenario,
            counted,
        )
        killed = None if warm or unloaded else self._killed(run)
        if killed is None:
            return outcome
        return replace(outcome, status="hung" if killed == "time" else "failed", killed=killed)

    def _killed(self, run: RunFacts) -> Literal["memory", "time"] | None:
        """Return which limit has ended a start, None if it ended otherwise."""
        if self._options.memory_kib is not None and was_killed(run.ended, run.memory_kills):
            return "memory"
        return "time" if run.by == "duration" and self._run is not self._options.run else None

    def _settings(self) -> dict[str, str]:
        """Return the shell variables that all trials share."""
        return {
            **settings(self._machine, self._run, self._options.wait_s),
            **memory_settings(self._options.memory_kib, watched=False),
            "all_knobs": "yes",
            "allow_warm": "yes",  # a note says so instead
            "counted": " ".join(self._counted),
            "vmstat": "yes" if self._options.vmstat else "",
            "without_maps": "yes",
            "watched": " ".join(self._counted) if self._options.bios else "",
            "buffer_kib": str(BIOS_KIB),
            "output_bytes": str(_OUTPUT_BYTES),
            **self._variables(Trial()),
        }

    def _text(self, trial: Trial) -> str:
        """Return the shell assignments that make a trial differ from others."""
        return "\n".join(f"{k}={shlex.quote(v)}" for k, v in self._variables(trial).items())

    def _variables(self, trial: Trial) -> dict[str, str]:
        load, replayer = NO_LOAD, self._options.replayer
        if trial.scenario.kind != "idle":
            with self._machine.devices() as devices:
                load = load_settings(trial.scenario, self._counted, devices)
        return {
            "knobs": guarded_run.knobs_text(trial.settings),
            **load,
            "replayer": replayer.kind if replayer and trial.replays else "",
            "later": "\n".join(setting.line for setting in trial.later),
            "preloads": "yes" if trial.preloads else "",
        }

    def _job(self) -> Job:
        return Job(self._first.target, PARTS, self._first.shell, like=self._first)


def _within(run: RunOptions, most_s: float | None) -> RunOptions:
    """Return the run that the target ends after ``most_s``, unless it ends it anyway."""
    if most_s is None or run.ending.duration_s is not None:
        return run
    return replace(run, ending=replace(run.ending, duration_s=most_s))


def _refusals(trial: Trial) -> dict[str, str]:
    later = [(setting.knob, setting.value) for setting in trial.later]
    return guarded_run.refusals([*trial.settings, *later])


def _unrestored(setting: Setting) -> tuple[str, ...]:
    return tuple(dict.fromkeys(unrestored(setting.restored)))
