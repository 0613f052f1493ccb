"""The metadata of a capture: one description of run, machine, mounts and disks."""

from __future__ import annotations

from collections.abc import Mapping

from foreread.boards.device import Devices
from foreread.tracer.formats.capture import Boot, Capture, Device, Mount, Squashfs
from foreread.tracer.formats.seen import Reads
from foreread.tracer.runs.inode_tables import with_tables
from foreread.tracer.runs.recording import RecordOptions
from foreread.tracer.runs.result import MachineState, RunResult, TraceSummary

# "model name" on x86, "Processor" on older ARM, "cpu model" on MIPS, "uarch" on RISC-V
_CPU_KEYS = ("model name", "cpu model", "Processor", "uarch", "Hardware")


def capture_of(
    options: RecordOptions,
    created: str,
    run: RunResult,
    trace: TraceSummary,
    machine: MachineState,
    notes: list[str],
    reads: Reads | None = None,
    boot: Boot | None = None,
    load_apart: str = "",
) -> Capture:
    """Return the metadata of a recording that began at ``created``; its disk is not probed yet.

    ``reads``: the disks' reads in the trace, which leave inode tables out that were not read; all
    tables stay with None. ``load_apart``: why the load beside the run is not limited as the run is.
    """
    mounted = mounts(machine.devices, machine.images)
    return Capture(
        foreread=options.foreread,
        created=created,
        backend=trace.backend,
        backend_version=trace.version,
        host=machine.host,
        command=[] if options.is_load else options.run.command,
        cwd=str(options.run.cwd or "/"),
        pid=run.pid,
        exit_status=run.ended.exit_status if run.ended else None,
        signal=run.ended.signal if run.ended else None,
        options=list(options.words),
        environment=dict(run.environment),
        cgroups=list(run.cgroups),
        ended_by=run.by,
        wall_seconds=run.seconds,
        start_ns=run.start_ns,
        end_ns=run.end_ns,
        clock=trace.clock,
        read_ahead_kb=options.read_ahead_kb,
        events=list(trace.events),
        events_missing=list(trace.missing),
        lost={str(cpu): events for cpu, events in sorted(trace.lost.items())},
        cold=run.cold,
        memory=run.memory,
        devices=list(machine.disks),
        mounts=with_tables(mounted, machine.tables, machine.devices, reads),
        stacks=list(machine.stacks),
        notes=notes,
        boot=boot,
        scenario=options.scenario,
        load_apart=load_apart,
        is_load=options.is_load,
    )


def mounts(devices: Devices, images: Mapping[str, Squashfs]) -> list[Mount]:
    """Return the mounts of ``devices`` as the capture keeps them; ``images`` are by device."""
    return [
        Mount(
            dev=point.dev,
            mountpoint=point.mountpoint,
            fstype=point.fstype,
            source=point.source,
            options=",".join(filter(None, (point.options, point.super_options))),
            first_sector=devices.first_sector(point.dev),
            squashfs=images.get(point.dev),
        )
        for point in devices.mounts
    ]


def device(devices: Devices, name: str) -> Device:
    """Return the description of disk ``name`` as it is now, ``read_ahead_kb`` included."""
    disk = devices.disk(name)
    queue = devices.queue(disk.name)
    return Device(
        dev=disk.dev,
        name=disk.name,
        filesystems=devices.superblocks(name),
        size_bytes=disk.size_bytes,
        read_ahead_kb_before=int(queue["read_ahead_kb"]),
        read_ahead_kb=int(queue["read_ahead_kb"]),
        queue=queue,
        model=disk.model,
    )


def cpu_model(cpuinfo: str) -> str:
    """Return the CPU's name from a text of /proc/cpuinfo, or an empty string."""
    lines = cpuinfo.splitlines()
    pairs = [(key.strip(), value.strip()) for key, _, value in (x.partition(":") for x in lines)]
    named = dict(reversed(pairs))
    return next((named[key] for key in _CPU_KEYS if named.get(key)), "")
