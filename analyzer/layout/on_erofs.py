"""A recorded start on an image of EROFS: which of its files it reads, its names, and the reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.layout.image_start import Counts, counted
from foreread.analyzer.layout.lookups import Touch, opened_names
from foreread.analyzer.layout.order import LayoutError, Start
from foreread.analyzer.layout.same_image import NO_FILE, found_in
from foreread.analyzer.predict.inputs import Inputs, inputs, may_have_huge_pages
from foreread.analyzer.predict.remedy import sweep
from foreread.boards.base.units import KIB
from foreread.emulator.devices.device import DeviceModel, FixedCost
from foreread.emulator.images.erofs import ErofsImage
from foreread.emulator.images.erofs_format import COMPRESSED
from foreread.emulator.images.erofs_kernel import CountingOnErofs, TimedOnErofs, erofs_extents
from foreread.emulator.images.erofs_lookups import ErofsLookups
from foreread.emulator.images.erofs_reads import ErofsReader, Read
from foreread.emulator.images.erofs_rules import PAGE, erofs_rules
from foreread.emulator.images.links import resolved
from foreread.emulator.linux.filesystems import has_large_folios
from foreread.emulator.linux.operations import Op, Program
from foreread.emulator.linux.requests import Layout
from foreread.emulator.linux.rules import Version, rules_for
from foreread.emulator.linux.steps import CpuCost, Run, Timed
from foreread.emulator.stepwise.replay import Replay
from foreread.emulator.stepwise.timed import timed


@dataclass(eq=False)
class _Opened:
    """Collects the paths that a start opens (``opened_names``)."""

    paths: list[str] = field(default_factory=list)

    def walk(self, path: str) -> Iterator[Touch]:
        """Keep a path."""
        self.paths.append(path)
        return iter(())


@dataclass(frozen=True, eq=False)
class OnErofs:
    """A recorded start on an image: ``file`` (by row of the recording) is the image's row or -1."""

    recording: Recording
    version: Version
    image: ErofsImage
    start: Start
    file: Array
    missing: tuple[str, ...]
    inputs: Inputs

    @cached_property
    def disk(self) -> int:
        """The row of the disk (Inputs.disks) with the files of the image."""
        return int(self.inputs.disk_of_file[int(np.flatnonzero(self.file >= 0)[0])])

    @cached_property
    def rows(self) -> list[int]:
        """The image's row of each file."""
        rows: list[int] = self.file.tolist()
        return rows

    @cached_property
    def names(self) -> list[str]:
        """The paths that the start looks up: those it opens, found or not, and its files."""
        opened = opened_paths(self.recording, self.start.mountpoint)
        return list(dict.fromkeys([*opened, *self.start.files]))

    def files(self) -> Array:
        """Return the FILE table with the image's files."""
        files = self.inputs.program.files.copy()
        here = self.file >= 0
        files["block_pages"][here] = 0
        huge = may_have_huge_pages(self.recording.capture)
        files["large_folios"][here] = huge and has_large_folios("erofs", "", self.version)
        files["size"][here] = self.image.files["size"][self.file[here]]
        return files

    def program(self) -> Program:
        """Return the start's operations on the image's files."""
        program = self.without_filled(self.inputs.program)
        file = program.file_of_operations()
        kept = (file >= 0) & (self.file[np.maximum(file, 0)] >= 0)
        return replace(program, operations=program.operations[kept], files=self.files())

    def without_filled(self, program: Program) -> Program:
        """Return a program without the pages that clusters brought and no operation touches.

        The recording has them as read singly (Op.SINGLE). Files that nothing else reads keep them.
        """
        row = np.append(self.file, -1)[program.file_of_operations()]
        packed = np.isin(self.image.files["layout"][row], tuple(COMPRESSED)) & (row >= 0)
        operations = program.operations.copy()
        read = np.unique(row[np.isin(operations["op"], (Op.READ, Op.FAULT))])
        filled = packed & np.isin(row, read) & (operations["op"] == Op.SINGLE)
        operations["op"][filled], operations["length"][filled] = Op.PRESENT, 0
        return replace(program, operations=operations)

    def layout(self) -> Layout:
        """Return the places of all files: the image's, and the recorded ones of others."""
        recorded = self.inputs.extents
        kept = recorded[self.file[recorded["file"]] < 0]
        own = erofs_extents(self.image, self.rows)
        return Layout(np.concatenate([kept, own.astype(kept.dtype)]))

    def reader(self) -> tuple[ErofsReader, list[Read]]:
        """Return the mounted image after all names were looked up, and the reads of that."""
        reader = ErofsReader(self.image, erofs_rules(self.version))
        lookups = ErofsLookups(reader)
        reads = [read for name in self.names for read in lookups.look_up(name)[0].reads]
        return reader, reads

    def of_names(self) -> list[Read]:
        """Return the reads that looking up all names takes."""
        return self.reader()[1]

    def counts(self, window: int) -> Counts:
        """Return what the start reads under a window (pages), after a boot."""
        kernel, of_names = self.counting(window)
        return counted([*of_names, *kernel.reads], kernel.unpacked, kernel.limits)

    def counting(self, window: int) -> tuple[CountingOnErofs, list[Read]]:
        """Return the kernel after the start under a window (pages), and the reads of its names."""
        machine, limits = self.inputs.machine(self.disk)
        replay = Replay(self.program(), rules_for(self.version), window, machine)
        reader, of_names = self.reader()
        replay.kernel = kernel = CountingOnErofs(
            *(replay.kernel.rules, machine, window),
            reader=reader,
            rows=self.rows,
            layout=self.layout(),
            limits=limits,
        )
        replay.run()
        return kernel, of_names

    def replay(
        self,
        run: Run,
        window: int,
        device: DeviceModel,
        cpu: CpuCost | None = None,
        recorded: Timed | None = None,
        unpack_page_ns: float = 0.0,
        ready_page_ns: float = 0.0,
    ) -> Timed:
        """Replay a run on the image, all names in memory.

        Without ``recorded`` it is the recorded run: its steps have the time to unpack.
        """
        reader = self.reader()[0]
        one_by_one = run.cpus == 1 and isinstance(device, FixedCost)
        kernel = partial(
            TimedOnErofs,
            reader=reader,
            rows=self.rows,
            unpack_page_ns=unpack_page_ns,
            ready_page_ns=ready_page_ns,
            recorded=recorded is None,
            hands_over=reader.rules.unpacks_first and one_by_one,
        )
        return timed(run, window, device, cpu, recorded, kernel)


def opened_paths(recording: Recording, mountpoint: str) -> list[str]:
    """Return the paths inside an image that the start opens, in the order of time."""
    opened = _Opened()
    opened_names(recording, opened, mountpoint)
    return opened.paths


def on_erofs(
    recording: Recording, image: ErofsImage, mountpoint: str | None = None, weight: float = 1.0
) -> OnErofs:
    """Return a start with the rows of its files in an image; LayoutError as ``found_in``."""

    def row_of(path: str) -> int | None:
        row = image.names.get(resolved(path, image.names, image.links) or "")
        return NO_FILE if row is None and path in image.inodes else row  # a directory

    if recording.page_size != PAGE:
        raise LayoutError(
            f"reads of EROFS are emulated for pages of {PAGE // KIB} KiB, and the recorded kernel "
            f"has {recording.page_size // KIB} KiB",
            sweep(recording),
        )
    image_files = found_in(
        recording, row_of, lambda row: int(image.files["size"][row]), mountpoint, weight
    )
    program_inputs = inputs(recording, image_files.version)
    here = image_files.start, image_files.file, image_files.missing
    return OnErofs(recording, image_files.version, image, *here, program_inputs)
