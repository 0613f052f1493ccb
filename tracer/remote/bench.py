"""A target as the bench of a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from boards.target import Target
from tracer.backends.base import RecordError
from tracer.journal import unrestored
from tracer.remote import guarded_run
from tracer.remote.guarded_run import losing_no_target, pass_on_output, run_to_end, settings
from tracer.remote.job import Job
from tracer.remote.machine import Machine
from tracer.remote.run_facts import RunFacts
from tracer.run import exit_notes, living_notes
from tracer.sweep_run import Measured, SweepOptions, disks_to_count, disks_to_sweep

PARTS = (*guarded_run.PARTS, "measure.sh")


@contextmanager
def bench_on(
    target: Target, options: SweepOptions, shell: Sequence[str] = ("sh",)
) -> Iterator[TargetBench]:
    """Yield ``target`` as a bench; every run puts back what it has changed. Raises RecordError."""
    guarded_run.check(options.run)
    with losing_no_target() as told, Job(target, PARTS, shell) as job:
        told.append(job)
        machine = Machine.parse(job.ask("probe", step="asking the target what it is"))
        job.saw_clock(machine.uptime_s)
        with machine.devices() as devices:
            disks = disks_to_sweep(options, devices, _executable(job, machine, options))
            knobs = devices.read_ahead_knobs(disks)
            counted = disks_to_count(disks, devices)
        yield TargetBench(job, machine, options, disks, knobs, counted)


def _executable(job: Job, machine: Machine, options: SweepOptions) -> Path:
    job.settings(settings(machine, options.run, options.wait_s), options.run.command)
    found = job.ask("locate", step="looking for the command")
    if len(found) != 1 or not found[0].value.startswith("/"):
        raise RecordError("the target does not say where the command is", "give its path")
    return Path(found[0].value)


class TargetBench:
    """A bench as ``tracer.sweep_run.Bench`` describes it; every run is a job of its own."""

    def __init__(
        self,
        job: Job,
        machine: Machine,
        options: SweepOptions,
        disks: list[str],
        knobs: list[str],
        counted: list[str],
    ) -> None:
        self.kernel = machine.kernel
        self.page_bytes = machine.page_size
        self.disks = disks
        self.notes: list[str] = []
        self._job = job
        self._machine = machine
        self._options = options
        self._knobs = knobs
        self._counted = counted

    def default_kb(self) -> int:
        """Return the window that the first disk has now."""
        return int(self._machine.sysfs[self._knobs[0].removeprefix("/sys/")])

    def run(self, read_ahead_kb: int) -> Measured:
        """Make one cold run of the command at that window."""
        with Job(self._job.target, PARTS, self._job.shell, like=self._job) as job:
            job.settings(self._settings(read_ahead_kb), self._options.run.command)
            run_to_end(job)
            facts = job.ask("result", step="fetching the result")
            pass_on_output(job, self._options.run.streams)
        run = RunFacts.parse(facts, self._machine)
        requests, sectors = run.reads
        return Measured(
            read_ahead_kb=self._in_force(run),
            seconds=(run.end_ns - run.start_ns) / 1e9,
            requests=requests,
            sectors=sectors,
            by=run.by,
            ended=run.ended,
            notes=[
                *exit_notes(run.ended),
                *living_notes(run.by, run.living, self._options.run),
                *run.notes,
                *unrestored(run.restored),
            ],
        )

    def _settings(self, read_ahead_kb: int) -> dict[str, str]:
        return {
            **settings(self._machine, self._options.run, self._options.wait_s),
            "knobs": " ".join(self._knobs),
            "read_ahead_kb": str(read_ahead_kb),
            "counted": " ".join(self._counted),
        }

    def _in_force(self, run: RunFacts) -> int:
        """Return the window of the run, which was the same on all disks."""
        windows = {run.windows.get(knob) for knob in self._knobs}
        window = windows.pop()
        if windows or window is None:
            raise RecordError(
                f"the windows of {', '.join(self.disks)} could not be set alike on the target",
                "name one disk with --device, whose window can be written",
            )
        return window
