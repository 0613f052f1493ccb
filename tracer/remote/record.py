"""Record one cold run on a target as a capture, in the same format as on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from msgspec import structs

from boards.base.silent import silent
from boards.device import Devices
from boards.target import Target, TargetError
from tracer import touches
from tracer.backends.base import INDISPENSABLE, STANDINS
from tracer.backends.tracefs import EVENT_PROBE
from tracer.error import RecordError
from tracer.formats import capture as capture_files
from tracer.formats.capture import TRACE, Capture, Device, FileEntry
from tracer.interrupts import orderly_exit
from tracer.local import metadata
from tracer.local.output import no_space_as_error, output_directory
from tracer.local.record import (
    InodesOf,
    RecordOptions,
    default_buffer_kib,
)
from tracer.local.run import RunOptions
from tracer.probes import ProbePlan
from tracer.remote import guarded_run, probes
from tracer.remote.fetched import Prepared, fetch
from tracer.remote.guarded_run import (
    directory,
    losing_no_target,
    pass_on_output,
    run_to_end,
    settings,
)
from tracer.remote.inode_tables import knobs_off, places_on
from tracer.remote.job import Job, making_sense
from tracer.remote.machine import Machine
from tracer.remote.mapped import MAPPED_S
from tracer.remote.probed import TraceReader, probe_target

PARTS = (*guarded_run.PARTS, "probes.sh", "inodes.sh", "unread.sh", "record.sh")


def record_on(
    target: Target,
    options: RecordOptions,
    output: Path,
    inodes_of: InodesOf | None = None,
    shell: Sequence[str] = ("sh",),
    seen: TraceReader | None = None,
) -> Capture:
    """Record one cold run on ``target`` into the directory ``output``; as ``tracer.local.record``.

    With ``seen``, which reads the trace, the disk is probed after the run.
    The command's output is passed on when the run has ended. ``shell`` starts the target's shell.
    Ctrl-C ends the run and keeps the capture. Raises RecordError; also when the connection is
    lost: then the target's guard puts everything back.
    """
    guarded_run.check(options.run)
    capture, files = _recorded(target, options, output, inodes_of, shell)
    if seen is None:
        return capture
    return with_disk(target, options, (capture, files), output, seen, shell)


def with_disk(
    target: Target,
    options: RecordOptions,
    recorded: tuple[Capture, list[FileEntry]],
    output: Path,
    seen: TraceReader,
    shell: Sequence[str] = ("sh",),
) -> Capture:
    """Probe the disk of a recorded capture in ``output``, add that, and return the capture."""
    capture, files = recorded

    def again(run: RunOptions, kb: int, events: tuple[str, ...], to: Path) -> object:
        small = replace(
            options,
            tell=silent,
            run=run,
            read_ahead_kb=kb,
            events=events,
            probes=False,
            touches=False,
        )
        return _recorded(target, small, to, None, shell)

    options.tell("learning what requests of the target's disk cost")
    try:
        disk = probe_target(target, capture, files, output / TRACE, seen, again)
    except (RecordError, TargetError, ValueError, LookupError, KeyboardInterrupt) as error:
        why = str(error) or "it was interrupted"
        capture = structs.replace(
            capture, notes=[*capture.notes, f"the disk was not probed: {why}"]
        )
        capture_files.write(output, capture, files)
        return capture
    if disk is not None:
        capture_files.add_disk(output, disk)
    return structs.replace(capture, disk=disk)


def _recorded(
    target: Target,
    options: RecordOptions,
    output: Path,
    inodes_of: InodesOf | None,
    shell: Sequence[str],
) -> tuple[Capture, list[FileEntry]]:
    with (
        orderly_exit(),
        output_directory(output),
        no_space_as_error(output),
        losing_no_target() as jobs,
        Job(target, PARTS, shell) as job,
    ):
        jobs.append(job)
        options.tell("reading the target's facts")
        machine = Machine.parse(job.ask("probe", step="reading the target's facts"))
        job.saw_clock(machine.uptime_s)
        with machine.devices() as devices:
            prepared = prepare(target, machine, devices, options)
            if options.touches and not options.read_ahead_kb:
                prepared = replace(prepared, places=places_on(job, devices))
            return _record(job, prepared, options, output, inodes_of)


def _record(
    job: Job,
    prepared: Prepared,
    options: RecordOptions,
    output: Path,
    inodes_of: InodesOf | None,
) -> tuple[Capture, list[FileEntry]]:
    created = datetime.now(UTC).isoformat(timespec="seconds")
    described, settings = described_settings(prepared, options)
    job.settings(settings, options.run.command)
    options.tell(f"running the command on the target, cold, at {options.read_ahead_kb} KiB")
    run_to_end(job)
    pass_on_output(job, options.run.streams)
    return fetch(job, prepared, described, created, options, output, inodes_of)


def prepare(target: Target, machine: Machine, devices: Devices, options: RecordOptions) -> Prepared:
    """Return what is needed to record on that target; raises RecordError."""
    unpacks = ""
    if options.touches and not options.read_ahead_kb:
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
    knobs = [*devices.read_ahead_knobs(disks), *devices.other_knobs()]
    windows = [(knob, str(options.read_ahead_kb)) for knob in knobs]
    windows += knobs_off(prepared.places, devices)
    windows += [(touches.KNOB, str(machine.page_size))] if prepared.unpacks else []
    buffer_kib = options.buffer_kib or default_buffer_kib(machine.available_kib, machine.cpu_count)
    return {
        **settings(machine, options.run, options.wait_s, windows),
        "events": " ".join(options.events),
        "standins": " ".join(f"{event}={standin}" for event, standin in STANDINS.items()),
        "indispensable": INDISPENSABLE,
        "open_probe": EVENT_PROBE,
        "debugfs": "yes" if prepared.unpacks else "",
        "kprobes": probes.lines(prepared.probes) if prepared.probes else "",
        "buffer_kib": str(buffer_kib),
        "page_bytes": str(machine.page_size),
        "mapped_s": str(MAPPED_S if options.note_mapped else 0),
    }
