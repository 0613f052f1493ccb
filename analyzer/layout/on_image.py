"""A recorded start on an image: which of the image's files it reads, and in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Rwbs
from foreread.analyzer.layout.known_names import known_names
from foreread.analyzer.layout.lookups import (
    Lookup,
    Names,
    hidden_lookups,
    metadata_reads,
    opened_names,
)
from foreread.analyzer.layout.module_sources import sources
from foreread.analyzer.layout.order import Start
from foreread.analyzer.layout.same_image import found_in
from foreread.analyzer.layout.squashfs_kernel import KernelOfImage, kernel_of_image
from foreread.analyzer.predict.inputs import Inputs, inputs
from foreread.emulator.images.reads import TOUCH, Touched, metadata_rows
from foreread.emulator.images.squashfs import SquashfsImage
from foreread.emulator.images.squashfs_reads import before_a_start, squashfs_reads
from foreread.emulator.images.squashfs_rules import SquashfsRules
from foreread.emulator.images.touched import touched_blocks
from foreread.emulator.linux.operations import FILE, Program
from foreread.emulator.linux.requests import EXTENT, SECTOR, Limits
from foreread.emulator.linux.rules import Version, rules_for
from foreread.emulator.linux.windows import Emulation
from foreread.tracer.formats.capture import Mount, dev_of

_FILE = 1 << 40  # pages: more than a file has
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class OnImage:
    """A recorded start on an image: ``file`` (by row of the recording) is the image's row or -1.

    ``name`` is the row of the image's names; ``changed`` are paths whose size differs, ``missing``
    those that the image does not have.
    ``config`` are options of the kernel's configuration (``read_kernel_config``).
    """

    recording: Recording
    version: Version
    image: SquashfsImage
    start: Start
    file: Array
    name: Array
    changed: tuple[str, ...]
    missing: tuple[str, ...]
    config: frozenset[str] | None = None

    @property
    def recorded_block_pages(self) -> int:
        """Return the pages of a block of the squashfs that was recorded; 1 for others."""
        pages = self.inputs.program.files["block_pages"][self.file >= 0]
        return int(pages.max(initial=1)) or 1

    @cached_property
    def inputs(self) -> Inputs:
        """The input of the emulation."""
        return inputs(self.recording, self.version)

    @cached_property
    def disk(self) -> int:
        """The row of the disk (Inputs.disks) with the files of the image."""
        return int(self.inputs.disk_of_file[int(np.flatnonzero(self.file >= 0)[0])])

    @cached_property
    def limits(self) -> Limits:
        """The limits of the disk's requests."""
        return self.inputs.machine(self.disk)[1]

    def files(self, block_size: int) -> Array:
        """Return the FILE table of the recording with the image's files in blocks of a size."""
        files = self.inputs.program.files.copy()
        here = self.file >= 0
        files["block_pages"][here] = block_size // self.recording.page_size
        files["large_folios"][here] = 0
        files["size"][here] = self.image.files["size"][self.file[here]]
        return files.astype(FILE)

    def touches(self, block_size: int, window: int) -> Array:
        """Return the touches (TOUCH) of the start with blocks of a size and a window in pages.

        Names are looked up when they were opened, and at the latest right before a file's first
        block. The rows of names are those of all images with the same names.
        """
        return _with_lookups(self._of_blocks(block_size, window), self.lookups)

    def _of_blocks(self, block_size: int, window: int) -> tuple[Array, Array]:
        """Return the touches of files, each after that of its name, and their times (ns)."""
        files = self.files(block_size)
        program = _of_files(replace(self.inputs.program, files=files), self.file >= 0)
        machine, limits = self.inputs.machine(self.disk)
        group = np.zeros(len(files), np.uint32)
        rules = rules_for(self.version)
        emulation = Emulation(program, rules, machine, limits, np.zeros(0, EXTENT), group)
        in_blocks = files.copy()
        in_blocks["block_pages"][self.file < 0] = 0
        inserts = emulation.inserts(window)
        touches, runs = touched_blocks(inserts, in_blocks, self.recording.page_size)
        times = _rising(self._times(inserts)[runs])
        return _with_names(touches, times, self.file, self.name, sources(self.image.rows))

    @cached_property
    def _opened(self) -> list[Lookup]:
        """Return the lookups of opened paths."""
        return opened_names(self.recording, Names(self.image), self.start.mountpoint)

    @cached_property
    def lookups(self) -> list[Lookup]:
        """Return what the start looks up, in the order of time."""
        opened = self._opened
        if not self.is_recorded:
            return opened
        blocks = self._of_blocks(self.image.block_size, 0)

        def both(hidden: Sequence[Lookup]) -> list[Lookup]:
            return sorted([*opened, *hidden], key=lambda lookup: lookup.time_ns)

        def modelled(hidden: Sequence[Lookup]) -> Sequence[int]:
            return self._metadata(_with_lookups(blocks, both(hidden)), self.known)

        return both(hidden_lookups(self.image, opened, self._recorded_rows, modelled))

    @cached_property
    def known(self) -> tuple[int, ...]:
        """The rows of names that were in memory before; none if that was not on this image."""
        if not self.is_recorded:
            return ()
        blocks = self._of_blocks(self.image.block_size, 0)
        touches = _with_lookups(blocks, self._opened)
        rows = [row for _, row in self._recorded_rows]
        return known_names(
            self.image, touches, rows, lambda known_rows: self._metadata(touches, known_rows)
        )

    def _metadata(self, touches: Array, known_rows: Sequence[int]) -> list[int]:
        """Return the rows of the metadata that touches read, in their order."""
        before = before_a_start(self.image)
        return metadata_rows(squashfs_reads(self.image, touches, self.rules, known_rows, before))

    @cached_property
    def _recorded_rows(self) -> list[tuple[int, int]]:
        """Return time and row of the metadata that were read."""
        disk = self.inputs.disks[self.disk]
        unit = self.rules.device_block
        return metadata_reads(self.recording, self.image, disk, self._first_sector(), unit)

    @property
    def rules(self) -> SquashfsRules:
        """What the kernel keeps of squashfs, and the unit of its reads."""
        return self.kernel.rules

    @cached_property
    def kernel(self) -> KernelOfImage:
        """How the kernel reads squashfs."""
        mount = self._mount if self._mount and self._mount.fstype == "squashfs" else None
        disk = self.inputs.disks[self.disk]
        return kernel_of_image(self.recording, self.version, mount, disk, self.config)

    def _times(self, inserts: Array) -> Array:
        """Return by run of inserts when the recorded start first accessed one of its pages (ns)."""
        accesses = self.recording.accesses
        accessed = accesses["file"].astype(np.int64) * _FILE + accesses["page"].astype(np.int64)
        pages = inserts["file"].astype(np.int64) * _FILE + inserts["index"].astype(np.int64)
        accessed_rows, row = np.unique(accessed, return_index=True)
        _, mine, theirs = np.intersect1d(pages, accessed_rows, return_indices=True)
        first_insert = np.full(int(inserts["run"].max(initial=0)) + 1, _NEVER)
        times = accesses["time_ns"].astype(np.int64)[row[theirs]]
        np.minimum.at(first_insert, inserts["run"][mine], times)
        return first_insert

    @cached_property
    def is_recorded(self) -> bool:
        """Whether the start was recorded on this very image: squashfs with its block size."""
        size = self.recorded_block_pages * self.recording.page_size
        return self.recorded_block_pages > 1 and size == self.image.block_size

    @cached_property
    def recorded_metadata(self) -> int:
        """Return how many reads of metadata were recorded; 0 if that was not on squashfs."""
        if self.recorded_block_pages == 1:
            return 0
        dev = self.inputs.disks[self.disk]
        requests = self.recording.requests
        reads = (requests["dev"] == dev) & ((requests["flags"] & Rwbs.READ) > 0)
        return int((reads & (requests["sector"] >= self.tables_sector)).sum())

    @cached_property
    def tables_sector(self) -> int:
        """The first sector of the image's tables on its disk, which come after its data."""
        mounts = self.recording.capture.mounts
        mine = [mount.first_sector for mount in mounts if mount.fstype == "squashfs"]
        first = next(iter(mine)) if len(mine) == 1 else self._first_sector()
        return first + self.image.superblock.inode_table // SECTOR // 2 * 2

    @property
    def server(self) -> str:
        """The type of the FUSE file system through which the start ran, as AppImages do; or ""."""
        fstype = self._mount.fstype if self._mount else ""
        return fstype if fstype.startswith("fuse") else ""

    def _first_sector(self) -> int:
        """Return the first sector of the file system on its disk."""
        return self._mount.first_sector if self._mount else 0

    @cached_property
    def _mount(self) -> Mount | None:
        """The mount with the files of the image."""
        row = int(np.flatnonzero(self.file >= 0)[0])
        dev = int(self.recording.files["dev"][row])
        mounts = self.recording.capture.mounts
        return next((mount for mount in mounts if dev_of(mount.dev) == dev), None)


def on_image(
    recording: Recording,
    image: SquashfsImage,
    mountpoint: str | None = None,
    weight: float = 1.0,
    config: frozenset[str] | None = None,
) -> OnImage:
    """Return a start with the rows of its files in an image; LayoutError as ``found_in``."""

    def row_of(path: str) -> int | None:
        row = image.rows.get(image.resolved(path) or "")
        return None if row is None or image.names["file"][row] < 0 else row

    def size_of(row: int) -> int:
        return int(image.files["size"][image.names["file"][row]])

    image_files = found_in(recording, row_of, size_of, mountpoint, weight)
    name, file = image_files.file, image_files.file.copy()
    file[name >= 0] = image.names["file"][name[name >= 0]]
    lists = image_files.changed, image_files.missing
    return OnImage(
        recording, image_files.version, image, image_files.start, file, name, *lists, config
    )


def _of_files(program: Program, wanted: Array) -> Program:
    """Return the operations of some files alone."""
    file = program.file_of_operations()
    kept = (file >= 0) & wanted[np.maximum(file, 0)]
    return replace(program, operations=program.operations[kept])


def _rising(times: Array) -> Array:
    """Return times of which none is after a later one: read ahead is what is used later."""
    earliest: Array = np.minimum.accumulate(times[::-1])[::-1]
    return earliest


def _with_names(
    touches: Array, times: Array, file: Array, name: Array, earlier: Mapping[int, int]
) -> tuple[Array, Array]:
    """Return touches with rows of the image, each file's name before its first block, and times.

    ``earlier`` are names that are looked up before others, by these.
    """
    touched_rows, begins = np.unique(touches["row"], return_index=True)
    rows, first = [], []
    for row, begin in zip(name[touched_rows].tolist(), begins.tolist(), strict=True):
        both = [earlier[row], row] if row in earlier else [row]
        rows += both
        first += [begin] * len(both)
    names = np.zeros(len(rows), TOUCH)
    names["kind"], names["row"] = Touched.NAME, rows
    blocks = touches.copy()
    blocks["row"] = file[touches["row"]]
    return np.insert(blocks, first, names), np.insert(times, first, times[first])


def _with_lookups(timed: tuple[Array, Array], lookups: Sequence[Lookup]) -> Array:
    """Return touches with lookups before the first one that is not earlier."""
    touches, times = timed
    rows = [(*touch, 0) for lookup in lookups for touch in lookup.touches]
    when = np.array([lookup.time_ns for lookup in lookups for _ in lookup.touches], np.int64)
    return np.insert(touches, np.searchsorted(times, when, "left"), np.array(rows, TOUCH))
