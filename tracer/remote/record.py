"""Record one cold run on a target as a capture, in the same format as on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import structs

from boards.device import Devices
from boards.silent import silent
from boards.target import Target, TargetError
from tracer.backends.base import INDISPENSABLE, STANDINS
from tracer.backends.tracefs import EVENT_PROBE
from tracer.error import RecordError
from tracer.formats import capture as capture_files
from tracer.formats.capture import TRACE, Capture, Device, FileEntry, Host, dev_text
from tracer.interrupts import orderly_exit
from tracer.local import metadata
from tracer.local.journal import unrestored
from tracer.local.output import no_space_as_error, output_directory
from tracer.local.record import (
    InodesOf,
    RecordOptions,
    default_buffer_kib,
    looking_up,
    lost_notes,
    unread_note,
)
from tracer.local.residency import with_cached
from tracer.local.run import RunOptions, exit_notes, living_notes
from tracer.probes import ProbePlan
from tracer.remote import guarded_run, probes
from tracer.remote.files import SEARCH_S, find_files
from tracer.remote.guarded_run import (
    directory,
    losing_no_target,
    pass_on_output,
    run_to_end,
    settings,
)
from tracer.remote.job import Job, making_sense
from tracer.remote.machine import Machine
from tracer.remote.mapped import MAPPED_S, UNKNOWN_PAGES, mapped_pages
from tracer.remote.pages import save_trace
from tracer.remote.places import with_places
from tracer.remote.probed import TraceReader, probe_target
from tracer.remote.run_facts import RunFacts, TraceFacts

PARTS = (*guarded_run.PARTS, "probes.sh", "record.sh")


@dataclass(frozen=True)
class _Prepared:
    machine: Machine
    devices: Devices
    probes: ProbePlan | None


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

    def again(run: RunOptions, kb: int, events: tuple[str, ...], to: Path) -> object:
        small = replace(
            options, tell=silent, run=run, read_ahead_kb=kb, events=events, probes=False
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
        losing_no_target() as told,
        Job(target, PARTS, shell) as job,
    ):
        told.append(job)
        options.tell("reading the target's facts")
        machine = Machine.parse(job.ask("probe", step="reading the target's facts"))
        job.saw_clock(machine.uptime_s)
        with machine.devices() as devices:
            planned = probes.plan_probes(target, machine) if options.probes else None
            prepared = _Prepared(machine, devices, planned)
            return _record(job, prepared, options, output, inodes_of)


def _record(
    job: Job,
    prepared: _Prepared,
    options: RecordOptions,
    output: Path,
    inodes_of: InodesOf | None,
) -> tuple[Capture, list[FileEntry]]:
    created = datetime.now(UTC).isoformat(timespec="seconds")
    machine, devices = prepared.machine, prepared.devices
    with making_sense("reading its disks"):
        disks = list(dict.fromkeys([*devices.mounted(), *options.devices]))
        described = [metadata.device(devices, name) for name in disks]
        told = _settings(prepared, options, disks)
    job.settings(told, options.run.command)
    options.tell(f"running the command on the target, cold, at {options.read_ahead_kb} KiB")
    run_to_end(job)
    options.tell("fetching the trace")
    facts = job.ask("result", step="fetching the result")
    run, traced = RunFacts.parse(facts, machine), TraceFacts.parse(facts)
    pass_on_output(job, options.run.streams)
    cached = mapped_pages(job, machine)
    lost, long_size = save_trace(job, traced, machine.byte_order, output / TRACE)
    notes = [
        *(prepared.probes.notes if prepared.probes else []),
        *run.notes,
        *exit_notes(run.ended),
        *living_notes(run.by, run.living, options.run),
        *lost_notes(lost),
        *unrestored(run.restored),
        *([UNKNOWN_PAGES] if cached is None else []),
    ]
    files = with_cached(
        _files(options, job, run, devices, inodes_of, notes, output / TRACE), cached
    )
    capture = Capture(
        foreread=options.foreread,
        created=created,
        backend="tracefs",
        backend_version=machine.kernel,
        host=_host(machine, long_size),
        command=options.run.command,
        cwd=directory(options.run),
        pid=run.pid,
        exit_status=run.ended.exit_status if run.ended else None,
        signal=run.ended.signal if run.ended else None,
        options=list(options.words),
        ended_by=run.by,
        wall_seconds=(run.end_ns - run.start_ns) / 1e9,
        start_ns=run.start_ns,
        end_ns=run.end_ns,
        clock=traced.clock,
        read_ahead_kb=options.read_ahead_kb,
        events=traced.events,
        events_missing=traced.missing,
        lost={str(cpu): events for cpu, events in sorted(lost.items())},
        cold=run.cold,
        devices=[_in_force(device, run) for device in described],
        mounts=metadata.mounts(devices),
        notes=notes,
    )
    with making_sense("what a capture says of it"):
        msgspec.convert(msgspec.to_builtins(capture), Capture)
    capture_files.write(output, capture, files)
    return capture, files


def _settings(prepared: _Prepared, options: RecordOptions, disks: list[str]) -> dict[str, str]:
    """Return the shell variables with the settings of the target's recorder."""
    machine, devices = prepared.machine, prepared.devices
    knobs = [*devices.read_ahead_knobs(disks), *devices.other_knobs()]
    windows = [(knob, str(options.read_ahead_kb)) for knob in knobs]
    buffer_kib = options.buffer_kib or default_buffer_kib(machine.available_kib, machine.cpu_count)
    return {
        **settings(machine, options.run, options.wait_s, windows),
        "events": " ".join(options.events),
        "standins": " ".join(f"{event}={standin}" for event, standin in STANDINS.items()),
        "indispensable": INDISPENSABLE,
        "open_probe": EVENT_PROBE,
        "kprobes": probes.lines(prepared.probes) if prepared.probes else "",
        "buffer_kib": str(buffer_kib),
        "page_bytes": str(machine.page_size),
        "mapped_s": str(MAPPED_S),
    }


def _files(
    options: RecordOptions,
    job: Job,
    run: RunFacts,
    devices: Devices,
    inodes_of: InodesOf | None,
    notes: list[str],
    trace: Path,
) -> list[FileEntry]:
    try:
        found = inodes_of(trace) if inodes_of else set()
    except ValueError as error:
        notes.append(unread_note(error))
        found = set()
    inodes = set(run.mapped) | {(dev_text(dev), ino) for dev, ino in found}
    limit_s = SEARCH_S if options.search_s is None else options.search_s
    options.tell(looking_up(len(inodes), limit_s))
    files, search_notes = find_files(job, inodes, devices.mounts, run.mapped, limit_s)
    notes += search_notes
    options.tell("looking up where these files are on the disk")
    return with_places(job, files, devices.mounts)


def _host(machine: Machine, long_size: int) -> Host:
    return Host(
        kernel=machine.kernel,
        version=machine.version,
        machine=machine.machine,
        nodename=machine.nodename,
        page_size=machine.page_size,
        byte_order=machine.byte_order,
        long_size=long_size,
        cpu_model=machine.cpu_model,
        cpu_count=machine.cpu_count,
        memory_kib=machine.memory_kib,
    )


def _in_force(device: Device, run: RunFacts) -> Device:
    """Return the disk with its windows: those found after leftovers of dead jobs were restored."""
    knob = f"/sys/block/{device.name}/queue/read_ahead_kb"
    before = run.before.get(knob, device.read_ahead_kb_before)
    return msgspec.structs.replace(
        device,
        read_ahead_kb_before=before,
        read_ahead_kb=run.windows.get(knob, before),
        queue={**device.queue, "read_ahead_kb": str(before)},
    )
