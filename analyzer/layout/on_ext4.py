"""A recorded start on an image of ext4 or ext2: its files by the ordinary readahead, and names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.layout.image_start import Counts, counted
from foreread.analyzer.layout.on_erofs import opened_paths
from foreread.analyzer.layout.order import Start
from foreread.analyzer.layout.same_image import NO_FILE, found_in
from foreread.analyzer.predict.inputs import Inputs, inputs, may_have_huge_pages
from foreread.emulator.devices.device import DeviceModel
from foreread.emulator.images.erofs_reads import Read
from foreread.emulator.images.ext4 import Ext4Image
from foreread.emulator.images.ext4_lookups import Ext4Lookups
from foreread.emulator.images.links import resolved
from foreread.emulator.linux.filesystems import has_large_folios
from foreread.emulator.linux.operations import Program
from foreread.emulator.linux.requests import EXTENT, SECTOR, Layout
from foreread.emulator.linux.rules import Version, rules_for
from foreread.emulator.linux.steps import CpuCost, Run, Timed
from foreread.emulator.linux.timed_windows import timed_windows
from foreread.emulator.linux.windows import Emulation


@dataclass(frozen=True, eq=False)
class OnExt4:
    """A recorded start on an image: ``inode`` (by row of the recording) is its number or -1."""

    recording: Recording
    version: Version
    image: Ext4Image
    start: Start
    inode: Array
    missing: tuple[str, ...]
    inputs: Inputs

    @cached_property
    def disk(self) -> int:
        """The row of the disk (Inputs.disks) with the files of the image."""
        return int(self.inputs.disk_of_file[int(np.flatnonzero(self.inode > 0)[0])])

    def files(self) -> Array:
        """Return the FILE table with the image's files."""
        files = self.inputs.program.files.copy()
        here = self.inode > 0
        files["block_pages"][here] = 0
        huge = may_have_huge_pages(self.recording.capture)
        files["large_folios"][here] = huge and has_large_folios("ext4", "", self.version)
        sizes = [self.image.inodes[inode].size for inode in self.inode[here].tolist()]
        files["size"][here] = sizes
        return files

    def layout(self) -> Layout:
        """Return the places of all files: the image's, and the recorded ones of others."""
        recorded = self.inputs.extents
        kept = recorded[self.inode[recorded["file"]] <= 0]
        rows: list[tuple[int, int, int, int, int]] = []
        for file in np.flatnonzero(self.inode > 0).tolist():
            extents = self.image.inodes[int(self.inode[file])].extents
            rows += [
                (file, at // SECTOR, place // SECTOR, length // SECTOR, int(written))
                for at, place, length, written in extents
            ]
            rows += [] if extents else [(file, 0, 0, 1, 0)]
        return Layout(np.concatenate([kept, np.array(rows, EXTENT)]))

    def of_names(self) -> list[Read]:
        """Return the reads of metadata: of names, inodes and the places of files."""
        lookups = Ext4Lookups(self.image)
        for name in dict.fromkeys(
            [*opened_paths(self.recording, self.start.mountpoint), *self.start.files]
        ):
            lookups.look_up(name)
        for number in self.inode[self.inode > 0].tolist():
            lookups.read_tree(number)
        return lookups.reads

    def counts(self, window: int) -> Counts:
        """Return what the start reads under a window (pages), after a boot."""
        machine, limits = self.inputs.machine(self.disk)
        group = (self.inode <= 0).astype(np.uint32)
        places = self.layout().extents
        emulation = Emulation(
            *(self._program(), rules_for(self.version), machine, limits, places, group)
        )
        emulated = emulation.counts([window])
        names = counted(self.of_names(), 0, limits)
        return Counts(
            requests=int(emulated.requests[0, 0]) + names.requests,
            read_bytes=int(emulated.pages[0, 0]) * machine.page_size + names.read_bytes,
            metadata_requests=names.metadata_requests,
            metadata_bytes=names.metadata_bytes,
        )

    def _program(self) -> Program:
        program = self.inputs.program
        file = program.file_of_operations()
        kept = (file >= 0) & (self.inode[np.maximum(file, 0)] > 0)
        return replace(program, operations=program.operations[kept], files=self.files())

    def replay(
        self,
        run: Run,
        window: int,
        device: DeviceModel,
        cpu: CpuCost | None = None,
        recorded: Timed | None = None,
        unpack_page_ns: float = 0.0,
    ) -> Timed:
        """Replay a run on the image, all names in memory; nothing is compressed."""
        del unpack_page_ns
        return timed_windows(run, [window], device, cpu, recorded)[0]


def on_ext4(
    recording: Recording, image: Ext4Image, mountpoint: str | None = None, weight: float = 1.0
) -> OnExt4:
    """Return a start with the inodes of its files in an image; LayoutError as ``found_in``."""

    def inode_of(path: str) -> int | None:
        number = image.names.get(resolved(path, image.names, image.links) or "")
        return NO_FILE if number is not None and not image.inodes[number].is_file else number

    image_files = found_in(
        recording, inode_of, lambda number: image.inodes[number].size, mountpoint, weight
    )
    program_inputs = inputs(recording, image_files.version)
    here = image_files.start, image_files.file, image_files.missing
    return OnExt4(recording, image_files.version, image, *here, program_inputs)
