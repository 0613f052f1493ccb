"""Record one cold run on a target as a capture, in the same format as on this machine."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from msgspec import structs

from foreread.boards.base.interrupts import orderly_exit
from foreread.boards.base.silent import silent
from foreread.boards.device import Devices
from foreread.boards.target import Target, TargetError
from foreread.tracer import touches
from foreread.tracer.backends.base import STANDINS
from foreread.tracer.backends.tracefs import EVENT_PROBE
from foreread.tracer.error import RecordError
from foreread.tracer.formats import capture as capture_files
from foreread.tracer.formats.capture import TRACE, Capture, Device, FileEntry
from foreread.tracer.formats.disk_probe import DiskProbe
from foreread.tracer.formats.memory import within
from foreread.tracer.formats.scenario import IDLE, beside
from foreread.tracer.formats.seen import Seen
from foreread.tracer.probes import ProbePlan
from foreread.tracer.remote import guarded_run, probes
from foreread.tracer.remote.fetched import Fetched, Name, Prepared, fetch
from foreread.tracer.remote.guarded_run import (
    directory,
    executable_on,
    losing_no_target,
    pass_on_output,
    run_to_end,
    settings,
)
from foreread.tracer.remote.inode_tables import places_on
from foreread.tracer.remote.job import Job, making_sense
from foreread.tracer.remote.machine import Machine
from foreread.tracer.remote.mapped import MAPPED_S
from foreread.tracer.remote.probed import (
    EVENTS,
    WINDOW_KB,
    ProbeRun,
    Row,
    known_cost,
    probe_options,
)
from foreread.tracer.runs import metadata
from foreread.tracer.runs.inode_tables import knobs_off
from foreread.tracer.runs.memory import check_memory, memory_settings
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.runs.output import no_space_as_error, output_directory
from foreread.tracer.runs.recording import RecordOptions, default_buffer_kib
from foreread.tracer.trials.load import load_settings
from foreread.tracer.trials.trial import Scenario, TrialOptions
from foreread.tracer.trials.tuned_disks import disks_to_count, disks_to_tune

PARTS = (*guarded_run.PARTS, "probes.sh", "inodes.sh", "unread.sh", "beside.sh", "record.sh")


@contextmanager
def run_on(
    target: Target, options: RecordOptions, output: Path, shell: Sequence[str] = ("sh",)
) -> Iterator[TargetRun]:
    """Make one cold run on ``target``, and yield it with its trace in the directory ``output``.

    The block names the files, which writes the capture and ends the job there.
    The command's output is passed on when the run has ended. ``shell`` starts the target's shell.
    Ctrl-C ends the run and keeps the capture. Raises RecordError; also when the connection is
    lost: then the target's guard puts everything back.
    """
    guarded_run.check(options.run)
    check_memory(options.memory_kib, options.run)
    with ExitStack() as opened:
        opened.enter_context(orderly_exit())
        opened.enter_context(output_directory(output))
        opened.enter_context(no_space_as_error(output))
        jobs = opened.enter_context(losing_no_target())
        job = opened.enter_context(Job(target, PARTS, shell))
        jobs.append(job)
        options.tell("reading the target's facts")
        machine = Machine.parse(job.ask("probe", step="reading the target's facts"))
        job.saw_clock(machine.uptime_s)
        devices = opened.enter_context(machine.devices())
        prepared = prepare(target, machine, devices, options)
        if options.touches and not options.read_ahead_kb and not options.is_load:
            prepared = replace(prepared, places=places_on(job, devices))
        if options.scenario != IDLE:
            prepared = replace(prepared, load=_load(job, prepared, options))
            job.bring("load.sh")
        yield TargetRun(target, _run(job, prepared, options, output), opened, shell)


def record_on(
    target: Target, options: RecordOptions, output: Path, shell: Sequence[str] = ("sh",)
) -> Capture:
    """Record one cold run of which the trace is not read: mapped files alone have names."""
    with run_on(target, options, output, shell) as run:
        run.name_files(Seen())
    return run.capture


class TargetRun:
    """A run of a target that has ended: its trace is here, its job open until files have names."""

    capture: Capture
    files: list[FileEntry]

    def __init__(
        self, target: Target, fetched: Fetched, opened: ExitStack, shell: Sequence[str] = ("sh",)
    ) -> None:
        self._target, self._fetched, self._opened, self._shell = target, fetched, opened, shell
        self.options, self.output = fetched.options, fetched.output
        self.trace = self.output / TRACE

    @property
    def pids(self) -> Collection[int]:
        """The command's first process, or all that a boot started."""
        return self._fetched.pids

    @property
    def group(self) -> str:
        """The control group for block I/O that the command joined, empty for the recorder's own."""
        return self._fetched.run.group

    def name_files(self, seen: Seen, name: Name | None = None) -> None:
        """Name the files of ``seen``, write the capture and end the job; ``name`` as in Fetched."""
        self.capture, self.files = self._fetched.named(seen, name)
        self._opened.close()

    def probe_disk(self, seen: Seen, scratch: Path) -> TargetProbe | None:
        """Read the disk that the command read most from, in a traced run in ``scratch``.

        None: the cost of the disk is known, or cannot be measured; a note says why.
        """
        self.options.tell("learning what requests of the target's disk cost")
        try:
            if seen.error is not None:
                raise seen.error
            devices = self.capture.devices
            disk = next((device for device in devices if device.dev == seen.most_read), None)
            if disk is None:
                return None
            if cost := known_cost(self._target, disk):
                self.store(cost)
                return None
            probe = ProbeRun(disk.dev, disk.name, scratch / "probe" / TRACE)
            reading = probe_options(disk, self.files)
            record_on(self._target, self._reading(reading), scratch / "probe", self._shell)
        except (RecordError, TargetError, ValueError, LookupError, KeyboardInterrupt) as error:
            self.note_unprobed(error)
            return None
        return TargetProbe(self, probe)

    def store(self, disk: DiskProbe) -> None:
        """Add the probe of the disk to the capture."""
        capture_files.add_disk(self.output, disk)
        self.capture = structs.replace(self.capture, disk=disk)

    def note_unprobed(self, error: BaseException) -> None:
        """Note in the capture why its disk was not probed."""
        note = f"the disk was not probed: {str(error) or 'it was interrupted'}"
        self.capture = structs.replace(self.capture, notes=[*self.capture.notes, note])
        capture_files.write(self.output, self.capture, self.files)

    def _reading(self, run: RunOptions) -> RecordOptions:
        return replace(
            self.options,
            tell=silent,
            run=run,
            read_ahead_kb=WINDOW_KB,
            events=EVENTS,
            probes=False,
            touches=False,
            scenario=IDLE,
            memory_kib=None,
        )


@dataclass(frozen=True)
class TargetProbe:
    """A traced run that read the disk of ``run``: its timed reads complete the probe."""

    run: TargetRun
    made: ProbeRun

    @property
    def dev(self) -> str:
        """The disk, "major:minor"."""
        return self.made.dev

    @property
    def trace(self) -> Path:
        """The trace directory to read."""
        return self.made.trace

    def store(self, own: Sequence[Row], rows: Sequence[Row]) -> None:
        """Add the probe to the capture; ``own`` are the timed reads of the capture itself.

        Beside a load those waited for its requests, and say nothing about the disk.
        """
        beside_load = self.run.options.scenario != IDLE
        self.run.store(self.made.probe([] if beside_load else own, rows))

    def fail(self, error: BaseException) -> None:
        """Note in the capture why its disk was not probed."""
        self.run.note_unprobed(error)


def _run(job: Job, prepared: Prepared, options: RecordOptions, output: Path) -> Fetched:
    created = datetime.now(UTC).isoformat(timespec="seconds")
    described, settings = described_settings(prepared, options)
    job.settings(settings, options.run.command)
    options.tell(_step(options))
    run_to_end(job)
    pass_on_output(job, options.run.streams)
    return fetch(job, prepared, described, created, options, output)


def _step(options: RecordOptions) -> str:
    if options.is_load:
        return "recording what the target reads and writes"
    load = beside(options.scenario) + within(options.memory_kib)
    return f"running the command on the target, cold, at {options.read_ahead_kb} KiB{load}"


def _load(job: Job, prepared: Prepared, options: RecordOptions) -> dict[str, str]:
    """Return the shell variables of the load beside the run, on the disk of its executable."""
    scenario, devices = Scenario.parse(options.scenario), prepared.devices
    executable = executable_on(job, prepared.machine, options.run, options.wait_s)
    chosen = TrialOptions(options.run, devices=options.devices)
    with making_sense("reading its disks"):
        disks = disks_to_count(disks_to_tune(chosen, devices, executable), devices)
        return load_settings(scenario, disks, devices)


def prepare(target: Target, machine: Machine, devices: Devices, options: RecordOptions) -> Prepared:
    """Return what is needed to record on that target; raises RecordError."""
    unpacks = ""
    if options.touches and not options.read_ahead_kb and not options.is_load:
        unpacks = touches.hidden(devices, options.run.command, directory(options.run))
    probed, notes = _planned(target, machine, options, unpacks)
    return Prepared(machine, devices, probed, unpacks, notes)


def described_settings(
    prepared: Prepared, options: RecordOptions
) -> tuple[list[Device], dict[str, str]]:
    """Return the disks to record, and the settings of the target's recorder."""
    devices = prepared.devices
    with making_sense("reading its disks"):
        disks = list(dict.fromkeys([*devices.mounted(), *options.devices]))
        described = [metadata.device(devices, name) for name in disks]
        return described, _settings(prepared, options, disks)


def _planned(
    target: Target, machine: Machine, options: RecordOptions, unpacks: str
) -> tuple[ProbePlan | None, list[str]]:
    """Return the probes that the user, or a compressed file system, needs, and notes."""
    if options.probes:
        return probes.plan_probes(target, machine), []
    if not unpacks or not touches.need_probes(machine.kernel):
        return None, []
    try:
        return probes.plan_probes(target, machine), []
    except RecordError as error:
        return None, [touches.unseen_note(unpacks, str(error))]


def _settings(prepared: Prepared, options: RecordOptions, disks: list[str]) -> dict[str, str]:
    """Return the shell variables with the settings of the target's recorder."""
    machine, devices = prepared.machine, prepared.devices
    windows = []
    if not options.is_load:
        knobs = [*devices.read_ahead_knobs(disks), *devices.other_knobs()]
        windows = [(knob, str(options.read_ahead_kb)) for knob in knobs]
        windows += knobs_off(prepared.places, devices)
        windows += [(touches.KNOB, str(machine.page_size))] if prepared.unpacks else []
    buffer_kib = options.buffer_kib or default_buffer_kib(machine.available_kib, machine.cpu_count)
    return {
        **settings(machine, options.run, options.wait_s, windows),
        **prepared.load,
        **memory_settings(options.memory_kib, watched=not options.is_load),
        "replayer": "",
        "later": "",
        "as_found": "yes" if options.is_load else "",
        "events": " ".join(options.events),
        "standins": " ".join(f"{event}={standin}" for event, standin in STANDINS.items()),
        "indispensable": options.events[0],
        "open_probe": EVENT_PROBE,
        "debugfs": "yes" if prepared.unpacks else "",
        "kprobes": probes.lines(prepared.probes) if prepared.probes else "",
        "buffer_kib": str(buffer_kib),
        "page_bytes": str(machine.page_size),
        "mapped_s": str(MAPPED_S if options.note_mapped else 0),
    }
