"""The capture of a run on a target, fetched from there when the run has ended."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from msgspec import structs

from foreread.boards.device import Devices
from foreread.boards.stack import Stack
from foreread.boards.stacks import stacks
from foreread.tracer import touches
from foreread.tracer.error import RecordError
from foreread.tracer.formats import capture as capture_files
from foreread.tracer.formats.capture import TRACE, Boot, Capture, Device, FileEntry, Host, Squashfs
from foreread.tracer.formats.seen import Seen
from foreread.tracer.probes import ProbePlan
from foreread.tracer.remote.boot_facts import boot_of
from foreread.tracer.remote.files import SEARCH_S, find_files
from foreread.tracer.remote.images import images_on, options_on
from foreread.tracer.remote.job import Job, making_sense
from foreread.tracer.remote.layered import of_layers
from foreread.tracer.remote.machine import Machine
from foreread.tracer.remote.mapped import UNKNOWN_PAGES, Mapped, mapped_pages
from foreread.tracer.remote.pages import save_trace
from foreread.tracer.remote.places import with_places
from foreread.tracer.remote.run_facts import RunFacts, TraceFacts
from foreread.tracer.runs import metadata
from foreread.tracer.runs.inode_tables import Places, tables_off
from foreread.tracer.runs.memory import killed_error, was_killed
from foreread.tracer.runs.options import exit_notes, living_notes
from foreread.tracer.runs.recording import RecordOptions, inodes_to_find, looking_up, lost_notes
from foreread.tracer.runs.residency import with_cached
from foreread.tracer.runs.restored import unrestored
from foreread.tracer.runs.result import MachineState, RunResult, TraceSummary
from foreread.tracer.trials.load import NO_LOAD
from foreread.tracer.trials.trial import apart_notes

Name = Callable[[RecordOptions, RunResult, Devices, Seen, list[str]], list[FileEntry]]


@dataclass(frozen=True)
class Prepared:
    """A target that is about to be recorded, and what was found there."""

    machine: Machine
    devices: Devices
    probes: ProbePlan | None
    unpacks: str  # file system of whose pages touches are to be shown, empty for none
    notes: list[str]
    places: Mapping[str, Places] = field(default_factory=dict)  # of inode tables, by device
    load: Mapping[str, str] = field(default_factory=lambda: NO_LOAD)  # as load_settings returns it


@dataclass(frozen=True)
class Fetched:
    """An ended run of a target with its trace in ``output``; its files have no names yet.

    ``described`` are the disks, ``created`` is when the recording began, ``late`` has notes on a
    boot whose recording began late, ``lost`` the lost events by CPU.
    """

    job: Job
    prepared: Prepared
    described: Sequence[Device]
    created: str
    options: RecordOptions
    output: Path
    run: RunFacts
    traced: TraceFacts
    boot: Boot | None
    late: list[str]
    mapped: Mapped | None
    lost: dict[int, int]
    long_size: int

    @property
    def pids(self) -> Collection[int]:
        """The command's first process, or all that a boot started."""
        return {self.run.pid, *(self.boot.processes if self.boot else ())}

    def named(self, seen: Seen, name: Name | None = None) -> tuple[Capture, list[FileEntry]]:
        """Name the files of ``seen``, write the capture and return it. Raises RecordError.

        ``name``: how files are named, if not by the target's shell.
        """
        devices, machine, mapped = self.prepared.devices, self.prepared.machine, self.mapped
        notes = self._notes()
        files = []
        if not self.options.is_load:
            name = name or self._name
            files = name(self.options, self.run, devices, seen, notes)
        if mapped is not None:
            files = with_cached(files, of_layers(mapped.pages, mapped.paths, files, devices))
        images = images_on(self.job, devices.mounts, machine.squashfs, {file.dev for file in files})
        capture = self._capture(images, notes)
        with making_sense("what a capture says of it"):
            msgspec.convert(msgspec.to_builtins(capture), Capture)
        capture_files.write(self.output, capture, files)
        return capture, files

    def _name(
        self,
        options: RecordOptions,
        run: RunResult,
        devices: Devices,
        seen: Seen,
        notes: list[str],
    ) -> list[FileEntry]:
        """Name files by the target's shell, and look where they are on its disks."""
        inodes = inodes_to_find(seen, run.mapped, notes)
        limit_s = SEARCH_S if options.search_s is None else options.search_s
        options.tell(looking_up(len(inodes), limit_s))
        files, search_notes = find_files(self.job, inodes, devices.mounts, run.mapped, limit_s)
        notes += search_notes
        options.tell("looking up where these files are on the disk")
        return with_places(self.job, files, devices.mounts)

    def _notes(self) -> list[str]:
        prepared, run = self.prepared, self.run
        return [
            *(prepared.probes.notes if prepared.probes else []),
            *prepared.notes,
            *run.notes,
            *self.late,
            *_unseen(prepared.unpacks, run.notes),
            *exit_notes(run.ended),
            *living_notes(run.by, run.living, self.options.run),
            *lost_notes(self.lost),
            *unrestored(run.restored),
            *([f"the load did not last until the end: {run.unloaded}"] if run.unloaded else []),
            *apart_notes(run.apart),
            *([UNKNOWN_PAGES] if self.mapped is None and not self.options.is_load else []),
        ]

    def _capture(self, images: dict[str, Squashfs], notes: list[str]) -> Capture:
        run, traced = self.run, self.traced
        prepared, machine, devices = self.prepared, self.prepared.machine, self.prepared.devices
        trace = TraceSummary(
            "tracefs", machine.kernel, traced.clock, traced.events, traced.missing, self.lost
        )
        state = MachineState(
            host=_host(machine, self.long_size, options_on(self.job, machine)),
            devices=devices,
            disks=[_in_force(device, run) for device in self.described],
            stacks=[_as_found(stack, run) for stack in stacks(devices)],
            tables=tables_off(prepared.places, devices, run.before, run.windows),
            images=images,
        )
        return metadata.capture_of(
            self.options,
            self.created,
            run,
            trace,
            state,
            notes,
            boot=self.boot,
            load_apart=run.apart,
        )


def fetch(
    job: Job,
    prepared: Prepared,
    described: Sequence[Device],
    created: str,
    options: RecordOptions,
    output: Path,
) -> Fetched:
    """Fetch the ended run of ``job`` into the directory ``output``. Raises RecordError."""
    machine = prepared.machine
    options.tell("fetching the trace")
    facts = job.ask("result", step="fetching the result")
    run, traced = RunFacts.parse(facts, machine), TraceFacts.parse(facts)
    if options.memory_kib is not None:
        _check_group(run, Path(job.folder).name, options.memory_kib)
    boot, late = boot_of(facts)
    mapped = mapped_pages(job, machine) if options.note_mapped else None
    lost, long_size = save_trace(job, traced, machine.byte_order, output / TRACE)
    return Fetched(
        job,
        prepared,
        described,
        created,
        options,
        output,
        run,
        traced,
        boot,
        late,
        mapped,
        lost,
        long_size,
    )


def _check_group(run: RunFacts, made: str, memory_kib: int) -> None:
    """Raise RecordError if the limit of its memory killed the command, or did not hold for it."""
    if was_killed(run.ended, run.memory_kills):
        raise killed_error(memory_kib)
    group = run.memory.group if run.memory else None
    if group is not None and Path(group.path).name != made:
        raise RecordError(
            f"the command has left its control group for {group.path}, so its memory had no limit",
            "record a command that does not join a group for memory, or set that group's limit and "
            "remove --memory",
        )


def _unseen(unpacks: str, notes: Sequence[str]) -> list[str]:
    """Return a note if the setting that shows touches was refused."""
    if not any(note.startswith(touches.KNOB) for note in notes):
        return []
    return [touches.unseen_note(unpacks, "enable CONFIG_DEBUG_FS in the target's kernel")]


def _host(machine: Machine, long_size: int, kernel_options: dict[str, str]) -> Host:
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
        sequential_cat=machine.sequential_cat,
        kernel_options=kernel_options,
    )


def _as_found(stack: Stack, run: RunFacts) -> Stack:
    """Return the stack with its window after leftovers of dead jobs were restored."""
    return structs.replace(stack, read_ahead_kb=run.before.get(stack.knob, stack.read_ahead_kb))


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
