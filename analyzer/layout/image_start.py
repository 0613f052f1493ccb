"""A recorded start on an image of some file system, and its seconds there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Rwbs
from foreread.analyzer.layout.order import Start
from foreread.analyzer.layout.predicted import DEFAULT_WINDOW
from foreread.analyzer.predict.doubts.recording import of_recording
from foreread.analyzer.predict.doubts.start import of_run
from foreread.analyzer.predict.inputs import Inputs
from foreread.analyzer.predict.kib import emulated_pages
from foreread.analyzer.predict.start import Start as Replayed
from foreread.analyzer.predict.start import prepare
from foreread.analyzer.program.inode_tables import more_reads, tables_of
from foreread.analyzer.program.plug import with_plugs
from foreread.emulator.devices.device import DeviceModel
from foreread.emulator.images.erofs_reads import Read
from foreread.emulator.linux.requests import SECTOR, Layout, Limits
from foreread.emulator.linux.rules import Version
from foreread.emulator.linux.steps import CpuCost, Run, Timed


@dataclass(frozen=True)
class Counts:
    """Reads: requests and bytes of data and of metadata, and the bytes that are unpacked."""

    requests: int
    read_bytes: int
    metadata_requests: int
    metadata_bytes: int
    unpacked: int = 0


class ImageStart(Protocol):
    """A recorded start on an image."""

    @property
    def recording(self) -> Recording:
        """The recording."""

    @property
    def version(self) -> Version:
        """The kernel's."""

    @property
    def start(self) -> Start:
        """What the start reads of the image's file system."""

    @property
    def inputs(self) -> Inputs:
        """The input of the emulation."""

    @property
    def disk(self) -> int:
        """The row of the disk (Inputs.disks) with the files."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Paths that the image does not have."""

    def counts(self, window: int) -> Counts:
        """Return what the start reads under a window (pages), after a boot."""

    def of_names(self) -> list[Read]:
        """Return the reads of metadata that are not part of the replay: those of names."""

    def files(self) -> Array:
        """Return the FILE table of the start on the image."""

    def layout(self) -> Layout:
        """Return the places of its files."""

    def replay(
        self,
        run: Run,
        window: int,
        device: DeviceModel,
        cpu: CpuCost | None = None,
        recorded: Timed | None = None,
        unpack_page_ns: float = 0.0,
    ) -> Timed:
        """Replay a run on the image, all names in memory."""


@dataclass(frozen=True, eq=False)
class RecordedStart:
    """A start on the image that it was recorded on, ready to be replayed on others.

    ``hidden`` are requests of metadata that no name and no file explains: they count in every
    image. ``known_ns`` is what the others took, ``unpacked`` are the bytes that were unpacked.
    ``recorded`` is the replay at window 0.
    """

    present: ImageStart
    replayed: Replayed
    recorded: Timed
    hidden: int
    known_ns: float
    unpacked: int
    doubts: tuple[str, ...]

    def seconds(
        self,
        start: ImageStart,
        window: int,
        unpack_page_ns: float,
        recorded_unpack_ns: float = 0.0,
    ) -> float:
        """Return the seconds on an image under a window (pages).

        ``unpack_page_ns`` is the processor's time to unpack a page, ``recorded_unpack_ns`` that of
        the recorded image: at window 0 the threads unpack themselves. The recorded reads of
        metadata stay in the replay; names that lie elsewhere cost more, or less.
        """
        replayed, page = self.replayed, self.present.recording.page_size
        run, cpu = run_on(replayed, start), replayed.cpu
        if replayed.unplugged_ns and window:
            run = with_plugs(run, self.recorded, replayed.unplugged_ns)
            cpu = replace(cpu, request_ns=max(cpu.request_ns - replayed.unplugged_ns, 0.0))
        timed = start.replay(run, window, replayed.device, cpu, self.recorded, unpack_page_ns)
        names_ns = duration_ns(replayed.device, start.of_names())
        unpacked_ns = self.unpacked / page * recorded_unpack_ns
        return (timed.total_ns + names_ns - self.known_ns - unpacked_ns) / 1e9


def recorded_start(present: ImageStart, device: DeviceModel | None = None) -> RecordedStart:
    """Return a start to be timed. Raises DeviceModelError if the cost of the disk is unknown."""
    replayed = prepare(present.inputs, present.version, device)
    recorded = present.replay(run_on(replayed, present), 0, replayed.device)
    counts = present.counts(0)
    each = counts.metadata_bytes // max(counts.metadata_requests, 1)
    known_reads = [Read(0, each, True)] * counts.metadata_requests
    known_ns = duration_ns(replayed.device, known_reads)
    twice_ns = known_ns - duration_ns(replayed.device, present.of_names())
    took = (recorded.total_ns - twice_ns) / 1e9
    doubts = (*of_recording(replayed.recording), *of_run(replayed, took))
    return RecordedStart(
        present=present,
        replayed=replayed,
        recorded=recorded,
        hidden=max(_recorded_requests(present) - counts.requests, 0),
        known_ns=known_ns,
        unpacked=counts.unpacked,
        doubts=tuple(dict.fromkeys(doubt.text for doubt in doubts)),
    )


def run_on(replayed: Replayed, start: ImageStart) -> Run:
    """Return the run with its files where an image has them."""
    program = replace(replayed.run.program, files=start.files())
    return replace(replayed.run, program=program, layout=start.layout())


def duration_ns(device: DeviceModel, reads: Iterable[Read]) -> float:
    """Return how long a disk takes for reads, each waited for."""
    queue, now = device.queue(), 0.0
    for read in reads:
        now = queue.submit(now, read.at // SECTOR, max(read.length // SECTOR, 1))
    return now


def present_window(program_inputs: Inputs, disk: int) -> int:
    """Return the window of a disk (a row of ``taken.disks``) before the recording, in pages."""
    device = program_inputs.device(disk)
    if device is None:
        return DEFAULT_WINDOW
    return emulated_pages(device.read_ahead_kb_before, program_inputs.recording.page_size)


def counted(reads: Iterable[Read], unpacked: int, limits: Limits) -> Counts:
    """Return the numbers of reads; each is as many requests as the disk's limit makes of it."""
    most, every = limits.max_sectors * SECTOR, list(reads)
    metadata = [read for read in every if read.metadata]
    return Counts(
        requests=sum(-(-read.length // most) for read in every),
        read_bytes=sum(read.length for read in every),
        metadata_requests=len(metadata),
        metadata_bytes=sum(read.length for read in metadata),
        unpacked=unpacked,
    )


def _recorded_requests(start: ImageStart) -> int:
    """Return the requests that the start sends to the disk in all, inode tables read ahead."""
    disk = start.inputs.disks[start.disk]
    requests = start.recording.requests.take(start.recording.requests["dev"] == disk)
    more, _ = more_reads(tables_of(start.recording, disk), requests)
    return int(np.count_nonzero((requests["flags"] & Rwbs.READ) > 0)) + more
