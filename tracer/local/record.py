"""Record one cold run of a command as a capture."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Literal, cast

from msgspec import structs

from foreread.boards.base.interrupts import orderly_exit
from foreread.boards.device import Devices
from foreread.boards.stack import Stack
from foreread.boards.stacks import stacks
from foreread.tracer import touches
from foreread.tracer.backends import tracefs_mount
from foreread.tracer.backends.base import INDISPENSABLE, Backend, Recorded
from foreread.tracer.error import RecordError
from foreread.tracer.formats import capture as capture_files
from foreread.tracer.formats.capture import TRACE, Capture, Device, FileEntry
from foreread.tracer.formats.disk_probe import DiskProbe
from foreread.tracer.formats.seen import Seen
from foreread.tracer.local.disk.probe import ProbeFailed, probe_disk
from foreread.tracer.local.files import SEARCH_S, find_files
from foreread.tracer.local.inode_tables import without_readahead
from foreread.tracer.local.journal import Journal, restore_leftovers
from foreread.tracer.local.metadata import host
from foreread.tracer.local.run import Run, run_cold
from foreread.tracer.local.squashfs import local_images
from foreread.tracer.memory import available_memory_kib
from foreread.tracer.runs import metadata
from foreread.tracer.runs.inode_tables import Tables
from foreread.tracer.runs.knobs import KnobRefused
from foreread.tracer.runs.output import no_space_as_error, output_directory
from foreread.tracer.runs.recording import (
    RecordOptions,
    default_buffer_kib,
    inodes_to_find,
    looking_up,
    lost_notes,
    search_cut,
)
from foreread.tracer.runs.residency import with_cached
from foreread.tracer.runs.restored import unrestored
from foreread.tracer.runs.result import MachineState, RunResult, TraceSummary


@contextmanager
def run_here(
    options: RecordOptions, backend: Backend, output: Path, probe_disk: bool = True
) -> Iterator[LocalRun]:
    """Make one cold run, and yield it; its capture is in the directory ``output`` at the end.

    The block names the files and probes the disk: ``probe_disk`` says that it will. Ctrl-C ends
    the run and keeps the capture; SIGTERM and SIGHUP end it and keep nothing. Every knob is put
    back before the run is yielded. Raises RecordError.
    """
    with orderly_exit():
        notes = unrestored(restore_leftovers())
        options.run.executable()
        version = _checked_version(backend)
        options = replace(options, run=replace(options.run, cwd=options.run.directory()))
        with output_directory(output), no_space_as_error(output):
            run = _run(options, backend, version, output / TRACE, probe_disk, notes)
            yield run
            capture_files.write(output, run.capture, run.files)


def record(options: RecordOptions, backend: Backend, output: Path) -> Capture:
    """Record one cold run of which the trace is not read: mapped files alone have names."""
    with run_here(options, backend, output, probe_disk=False) as run:
        run.name_files(Seen())
    return run.capture


@dataclass
class LocalRun:
    """A run of this machine that has ended: its trace is there, its files have no names yet.

    ``disks``: windows of these were set; ``tables``: their inode tables, read without readahead.
    """

    options: RecordOptions
    trace: Path
    created: str
    run: Run
    recorded: TraceSummary
    devices: Devices
    stacks: list[Stack]
    disks: list[Device]
    tables: Tables
    notes: list[str]
    capture: Capture = field(init=False)
    files: list[FileEntry] = field(init=False)

    @property
    def pids(self) -> Collection[int]:
        """The command's first process."""
        return {self.run.pid}

    def name_files(self, seen: Seen) -> None:
        """Name the files of ``seen`` and those mapped at the end; ``capture`` is made then."""
        run = self.run
        files = named_files(self.options, run, self.devices, seen, self.notes)
        self.files = with_cached(files, run.cached)
        self.capture = self._capture(seen)

    def probe_disk(self, seen: Seen, _scratch: Path) -> None:
        """Probe the disk that the command read most from."""
        self.options.tell("learning what requests of the disk cost, a few seconds")
        disk = probed(self.run.group, self.devices, self.files, seen, self.capture.notes)
        self.capture = structs.replace(self.capture, disk=disk)

    def _capture(self, seen: Seen) -> Capture:
        images = local_images(self.devices)
        state = MachineState(host(), self.devices, self.disks, self.stacks, self.tables, images)
        return metadata.capture_of(
            self.options, self.created, self.run, self.recorded, state, self.notes, seen.reads
        )


def _run(
    options: RecordOptions,
    backend: Backend,
    version: str,
    trace: Path,
    watch_group: bool,
    notes: list[str],
) -> LocalRun:
    """Make the run with all settings in force, and put them back."""
    created = datetime.now(UTC).isoformat(timespec="seconds")
    with tracefs_mount.mounted() as place:
        events, missing = tracefs_mount.available(place, options.events)
    _check_events(missing)
    with Journal(wait_s=options.wait_s) as journal:
        devices = Devices()
        under = stacks(devices)
        disks = _set_windows(journal, devices, options, notes)
        _show_touches(journal, devices, options, notes)
        tables = {} if options.read_ahead_kb else without_readahead(journal, devices)
        options.tell(f"running the command cold, at read_ahead_kb={options.read_ahead_kb}")
        run, recorded = _run_recorded(options, backend, trace, events, watch_group)
    notes += [*run.notes, *recorded.notes, *lost_notes(recorded.lost)]
    notes += unrestored([*journal.leftovers, *journal.restored])
    name = cast(Literal["tracefs", "trace-cmd", "perf"], backend.name)
    summary = TraceSummary(name, version, "mono", events, missing, recorded.lost)
    return LocalRun(options, trace, created, run, summary, devices, under, disks, tables, notes)


def _run_recorded(
    options: RecordOptions, backend: Backend, trace: Path, events: list[str], watch_group: bool
) -> tuple[Run, Recorded]:
    """Make the run under the recorder."""
    buffer_kib = options.buffer_kib or default_buffer_kib(
        available_memory_kib(), os.cpu_count() or 1
    )
    with ExitStack() as stack:
        stack.callback(backend.stop)
        run = run_cold(
            options.run,
            begin=lambda: backend.start(trace, events, buffer_kib),
            end=backend.stop,
            watch_group=watch_group,
        )
        return run, backend.stop()


def _show_touches(
    journal: Journal, devices: Devices, options: RecordOptions, notes: list[str]
) -> None:
    """Turn fault-around off if it would hide touches of pages in compressed blocks."""
    if not options.touches or options.read_ahead_kb:
        return
    fstype = touches.hidden(devices, options.run.command, str(options.run.directory()))
    if not fstype:
        return
    try:
        journal.set(touches.KNOB, str(os.sysconf("SC_PAGE_SIZE")))
    except KnobRefused:
        mount = "mount -t debugfs debugfs /sys/kernel/debug"
        notes.append(touches.unseen_note(fstype, f"{mount}, and record again"))
    if touches.need_probes(os.uname().release):
        remote = "record with --target ssh://root@localhost, which uses kernel probes"
        notes.append(touches.unseen_note(fstype, remote))


def _set_windows(
    journal: Journal, devices: Devices, options: RecordOptions, notes: list[str]
) -> list[Device]:
    """Set the window of every disk a command can read from; describe the disks."""
    names = list(dict.fromkeys([*devices.mounted(), *options.devices]))
    before = [metadata.device(devices, name) for name in names]
    own = [devices.read_ahead_knobs([name]) for name in names]
    knobs = dict.fromkeys([*chain.from_iterable(own), *devices.other_knobs()])
    outcomes = journal.set_all([(knob, str(options.read_ahead_kb)) for knob in knobs])
    in_force = {
        knob: _window(knob, outcome, options.read_ahead_kb, notes)
        for knob, outcome in outcomes.items()
    }
    return [
        structs.replace(disk, read_ahead_kb=in_force[knobs_of_disk[0]])
        for disk, knobs_of_disk in zip(before, own, strict=True)
    ]


def _window(knob: str, outcome: str | KnobRefused, wanted_kb: int, notes: list[str]) -> int:
    """Return the window in force, with a note if it is not the one that was wanted."""
    if isinstance(outcome, KnobRefused):
        in_force = int(Path(knob).read_text())
        notes.append(f"{outcome}: it stayed at {in_force}")
    elif (in_force := int(outcome)) != wanted_kb:
        notes.append(f"{knob}: the kernel made {wanted_kb} to {in_force}")
    return in_force


def named_files(
    options: RecordOptions, run: RunResult, devices: Devices, seen: Seen, notes: list[str]
) -> list[FileEntry]:
    """Return the files in the trace and those mapped at the end; Ctrl-C cuts the search."""
    inodes = inodes_to_find(seen, run.mapped, notes)
    limit_s = SEARCH_S if options.search_s is None else options.search_s
    options.tell(looking_up(len(inodes), limit_s))
    try:
        files, complete = find_files(inodes, devices.mounts, run.mapped, limit_s)
    except KeyboardInterrupt:
        files, complete = find_files(inodes, [], run.mapped)[0], False
    if not complete:
        notes.append(search_cut(files, limit_s))
    return files


def probed(
    group: str, devices: Devices, files: list[FileEntry], seen: Seen, notes: list[str]
) -> DiskProbe | None:
    """Probe the disk that the command read most from, in its control group; Ctrl-C cuts it."""
    try:
        if seen.error is not None:
            raise seen.error
        dev = seen.most_read
        name = devices.disk_of_dev(dev) if dev else None
        if name is None or seen.reads is None:
            return None
        on_disk = set(devices.superblocks(name))
        ours = [file for file in files if file.path and file.dev in on_disk and not file.link]
        ours.sort(key=lambda file: -file.size_bytes)
        paths = [Path(file.path) for file in ours if file.path]
        return probe_disk(devices, name, seen.reads[dev], paths, group)
    except (ValueError, LookupError, ProbeFailed) as error:
        notes.append(f"the disk was not probed: {error}")
    except KeyboardInterrupt:
        notes.append("the probe of the disk was interrupted")
    return None


def _checked_version(backend: Backend) -> str:
    """Return the version of a back-end that works here; RecordError for any other."""
    probe = backend.probe()
    if not probe.works:
        raise RecordError(f"{backend.name} cannot record here: {probe.lacks}", probe.remedy)
    return probe.version


def _check_events(missing: list[str]) -> None:
    if INDISPENSABLE in missing:
        raise RecordError(
            f"kernel {os.uname().release} has no event {INDISPENSABLE}",
            "use Linux 3.10 or later with CONFIG_FTRACE and event tracing",
        )
