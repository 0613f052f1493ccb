"""Record one cold run on a target as a capture, the same as of a run on this machine."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from msgspec import structs

from boards.device import Devices
from boards.target import Target, TargetError
from tracer import capture as capture_files
from tracer import metadata
from tracer.backends.base import INDISPENSABLE, RecordError
from tracer.backends.tracefs import EVENT_PROBE
from tracer.capture import TRACE, Capture, Device, FileEntry, Host, dev_text
from tracer.interrupts import orderly_exit
from tracer.journal import unrestored
from tracer.output import no_space_as_error, output_directory
from tracer.probes import ProbePlan
from tracer.record import InodesOf, RecordOptions, default_buffer_kib, lost_notes
from tracer.remote import probes
from tracer.remote.files import find_files
from tracer.remote.job import Job
from tracer.remote.machine import Machine
from tracer.remote.pages import save_trace
from tracer.remote.run_facts import RunFacts
from tracer.run import exit_notes, living_notes

PARTS = ("lib.sh", "held.sh", "probes.sh", "tracing.sh", "record.sh")
_AWAIT_S = 5  # how long the target is waited for before it hears of us again
_OUTPUT_BYTES = 1 << 20  # of each stream of the command that are kept
_UNEXPLAINED_KIB = 4096  # as tracer.cold: what others read meanwhile, superblocks
_UNEXPLAINED_SHARE = 1000


@dataclass(frozen=True)
class _Prepared:
    machine: Machine
    devices: Devices
    disks: list[str]
    allowed_kib: int
    probes: ProbePlan | None


def record_on(
    target: Target,
    options: RecordOptions,
    output: Path,
    inodes_of: InodesOf | None = None,
    shell: Sequence[str] = ("sh",),
) -> Capture:
    """Record one cold run on ``target`` into the directory ``output``; as ``tracer.record``.

    The command's output is passed on when the run is over. ``shell`` starts the target's shell.
    Ctrl-C ends the run and keeps the capture. Raises RecordError; also when the connection is
    lost: then the target's guard puts everything back.
    """
    if not options.run.command:
        raise RecordError("no command was given", "give it after --")
    options.run.ending.check()
    with (
        orderly_exit(),
        output_directory(output),
        no_space_as_error(output),
        _lost_connection() as told,
        Job(target, PARTS, shell) as job,
    ):
        told.append(job)
        machine = Machine.parse(job.ask("probe", step="asking the target what it is"))
        job.saw_clock(machine.uptime_s)
        with machine.devices() as devices:
            planned = probes.plan_probes(target, machine) if options.probes else None
            prepared = _prepare(machine, devices, planned)
            return _record(job, prepared, options, output, inodes_of)


def _prepare(machine: Machine, devices: Devices, planned: ProbePlan | None) -> _Prepared:
    allowed_kib = max(_UNEXPLAINED_KIB, machine.memory_kib // _UNEXPLAINED_SHARE)
    return _Prepared(machine, devices, devices.mounted(), allowed_kib, planned)


def _record(
    job: Job,
    prepared: _Prepared,
    options: RecordOptions,
    output: Path,
    inodes_of: InodesOf | None,
) -> Capture:
    created = datetime.now(UTC).isoformat(timespec="seconds")
    machine, devices = prepared.machine, prepared.devices
    disks = list(dict.fromkeys([*prepared.disks, *options.devices]))
    described = [metadata.device(devices, name) for name in disks]
    job.settings(_settings(prepared, options, disks), options.run.command)
    _run(job)
    run = RunFacts.parse(
        job.ask("result", step="fetching the result"), machine.page_size, prepared.allowed_kib
    )
    _pass_on_output(job, options)
    lost, long_size = save_trace(job, run, machine.byte_order, output / TRACE)
    notes = [
        *(prepared.probes.notes if prepared.probes else []),
        *run.notes,
        *exit_notes(run.ended),
        *living_notes(run.by, run.living, options.run),
        *lost_notes(lost),
        *unrestored(run.restored),
    ]
    files = _files(job, run, devices, output / TRACE, inodes_of, notes)
    capture = Capture(
        foreread=options.foreread,
        created=created,
        backend="tracefs",
        backend_version=machine.kernel,
        host=_host(machine, long_size),
        command=options.run.command,
        cwd=_directory(options),
        pid=run.pid,
        exit_status=run.ended.exit_status if run.ended else None,
        signal=run.ended.signal if run.ended else None,
        options=list(options.words),
        ended_by=run.by,
        wall_seconds=(run.end_ns - run.start_ns) / 1e9,
        start_ns=run.start_ns,
        end_ns=run.end_ns,
        clock=run.clock,
        read_ahead_kb=options.read_ahead_kb,
        events=run.events,
        events_missing=run.missing,
        lost={str(cpu): events for cpu, events in sorted(lost.items())},
        cold=run.cold,
        devices=[_in_force(device, run, notes) for device in described],
        mounts=metadata.mounts(devices),
        notes=notes,
    )
    capture_files.write(output, capture, files)
    return capture


def _settings(prepared: _Prepared, options: RecordOptions, disks: list[str]) -> dict[str, str]:
    """Return the shell variables that tell the target's recorder what to do."""
    machine, devices, ending = prepared.machine, prepared.devices, options.run.ending
    knobs = [*devices.read_ahead_knobs(disks), *devices.other_knobs()]
    buffer_kib = options.buffer_kib or default_buffer_kib(machine.available_kib, machine.cpu_count)
    return {
        "knobs": " ".join(knobs),
        "read_ahead_kb": str(options.read_ahead_kb),
        "events": " ".join(options.events),
        "indispensable": INDISPENSABLE,
        "open_probe": EVENT_PROBE,
        "kprobes": probes.lines(prepared.probes) if prepared.probes else "",
        "buffer_kib": str(buffer_kib),
        "allowed_kib": str(prepared.allowed_kib),
        "allow_warm": "yes" if options.run.allow_warm else "",
        "keep_running": "yes" if options.run.keep_running else "",
        "directory": _directory(options),
        "user": options.run.user or "",
        "duration_s": "" if ending.duration_s is None else f"{ending.duration_s:.3f}",
        "idle_cs": "" if ending.idle_ms is None else str(max(1, round(ending.idle_ms / 10))),
        "until_output": ending.output or "",
        "output_bytes": str(_OUTPUT_BYTES),
        "lock_wait_s": str(round(options.wait_s)),
        "own_session": "setsid" if "setsid" in machine.applets else "",
    }


def _run(job: Job) -> None:
    """Start the run and return when it is over; Ctrl-C ends it."""
    job.ask("start", step="starting the recording", within_s=_AWAIT_S)
    interrupted = False
    while True:
        try:
            if interrupted and job.ask("stop", step="ending the recording")[:1]:
                raise KeyboardInterrupt  # it had not begun
            answer = job.ask("await", str(_AWAIT_S), step="recording", within_s=_AWAIT_S)
            if any(fact.key == "state" and fact.value == "over" for fact in answer):
                return
        except KeyboardInterrupt:
            if interrupted:
                raise
            interrupted = True


def _pass_on_output(job: Job, options: RecordOptions) -> None:
    streams = options.run.streams
    for name, descriptor in (("stdout", streams.stdout), ("stderr", streams.stderr)):
        rest = memoryview(job.raw("output", name, step="fetching the command's output").stdout)
        with contextlib.suppress(OSError):  # our reader has gone
            while rest:
                rest = rest[os.write(descriptor, rest) :]


def _files(
    job: Job,
    run: RunFacts,
    devices: Devices,
    trace: Path,
    inodes_of: InodesOf | None,
    notes: list[str],
) -> list[FileEntry]:
    try:
        found = inodes_of(trace) if inodes_of else set()
    except ValueError as error:
        notes.append(f"the trace could not be read to look for its files: {error}")
        found = set()
    inodes = set(run.mapped) | {(dev_text(dev), ino) for dev, ino in found}
    files, search_notes = find_files(job, inodes, devices.mounts, run.mapped)
    notes += search_notes
    return files


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


def _in_force(device: Device, run: RunFacts, notes: list[str]) -> Device:
    knob = f"/sys/block/{device.name}/queue/read_ahead_kb"
    return structs.replace(device, read_ahead_kb=run.windows.get(knob, device.read_ahead_kb_before))


def _directory(options: RecordOptions) -> str:
    return str(options.run.cwd or "/")


@contextlib.contextmanager
def _lost_connection() -> Iterator[list[Job]]:
    """Make a lost connection an error that says what becomes of the target."""
    jobs: list[Job] = []
    try:
        yield jobs
    except TargetError as error:
        if not jobs:
            raise
        raise RecordError(
            f"{error}; the guard on the target ends the command and puts everything back "
            f"within {jobs[0].lease_s(_AWAIT_S)} s of its time",
            error.remedy,
        ) from error
