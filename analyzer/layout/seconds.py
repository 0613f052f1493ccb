"""The seconds of a start with each layout of its image: the replay, and the time to unpack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.layout.on_image import OnImage
from foreread.analyzer.layout.predicted import Case, Reads, case, counted, packed_sectors
from foreread.analyzer.predict.disk.device_model import DeviceModelError
from foreread.analyzer.predict.doubts.recording import of_recording
from foreread.analyzer.predict.doubts.start import of_run
from foreread.analyzer.predict.start import Start, prepare
from foreread.emulator.devices.device import DeviceModel
from foreread.emulator.images.reads import ReadOf, Touched
from foreread.emulator.images.squashfs import SquashfsImage
from foreread.emulator.linux.requests import EXTENT, SECTOR, Layout
from foreread.emulator.linux.steps import CpuCost, Run
from foreread.emulator.linux.timed_windows import timed_windows


@dataclass(frozen=True)
class Unpacking:
    """The processor's time to unpack: per page that comes out, and per sector that goes in.

    ``insert_ns`` is the time to put a page into the page cache; of a fragment that is unpacked only
    the pages of the file go there. ``by_block`` are block sizes (bytes, rising), each with its
    ``page_ns`` and ``sector_ns``.
    """

    page_ns: float
    sector_ns: float = 0.0
    insert_ns: float = 0.0
    by_block: tuple[tuple[int, float, float], ...] = ()
    page_bytes: int | None = None  # None: the recorded kernel's

    def at(self, block_size: int) -> Unpacking:
        """Return the same for blocks of a size: between two that were measured by its logarithm."""
        if not self.by_block:
            return self
        sizes, *measured = zip(*self.by_block, strict=True)
        at, known_at = np.log2(block_size), np.log2(sizes)
        page_ns, sector_ns = (float(np.interp(at, known_at, ns)) for ns in measured)
        return replace(self, page_ns=page_ns, sector_ns=sector_ns, by_block=())

    def seconds(self, reads: Reads, page_size: int) -> float:
        """Return the time to unpack what a start reads."""
        page = self.page_bytes or page_size
        pages = reads.unpacked_bytes / page
        inserted = reads.inserted_bytes / page * self.insert_ns
        return (pages * self.page_ns + packed_sectors(reads) * self.sector_ns + inserted) / 1e9


@dataclass(frozen=True, eq=False)
class Timing:
    """A start that can be timed on other layouts.

    ``recorded`` are the reads at the recorded window (0) of the present image; ``unpacking`` is by
    compressor; ``why`` says why seconds are unknown or doubtful.
    """

    start: OnImage
    replayed: Start
    recorded: Reads | None
    unpacking: Mapping[str, Unpacking]
    doubts: tuple[str, ...] = ()

    def seconds(self, image_case: Case, reads: Reads) -> float | None:
        """Return the seconds of a case; None if the time to unpack is unknown."""
        more_ns = self._more_unpacking_ns(image_case, reads)
        if more_ns is None:
            return None
        run = relaid_run(
            with_unpacking(self.replayed.run, self._read, more_ns), self.start, image_case
        )
        timed = timed_windows(run, [image_case.window], self.replayed.device, CpuCost())[0]
        return (timed.total_ns + self._more_metadata_ns(reads)) / 1e9

    def beside_ns(self, image_case: Case, reads: Reads) -> float | None:
        """Return the time that a case takes beside the replay: to unpack, and further metadata.

        None if the time to unpack is unknown.
        """
        more_ns = self._more_unpacking_ns(image_case, reads)
        return None if more_ns is None else self._more_metadata_ns(reads) + more_ns

    @cached_property
    def _read(self) -> Array:
        """The sectors that each step of the recorded run read, metadata among them."""
        run = self.replayed.run
        unpacked = timed_windows(run, [0], self.replayed.device, CpuCost())[0].work[:, 2].copy()
        tables = self.start.tables_sector
        of_metadata = (run.steps["operation"] < 0) & (run.steps["sector"] >= tables)
        unpacked[of_metadata] = run.steps["sectors"][of_metadata]
        return unpacked

    def _more_unpacking_ns(self, image_case: Case, reads: Reads) -> float | None:
        """Return the time to unpack that a case takes more than the recorded start, or None."""
        page = self.start.recording.page_size
        new = self.unpacking.get(image_case.image.superblock.compressor)
        old = self.unpacking.get(self.start.image.superblock.compressor)
        if new is None or (old is None and self.recorded is not None):
            return None
        was = 0.0
        if old is not None and self.recorded is not None:
            was = old.at(self.start.image.block_size).seconds(self.recorded, page)
        now = new.at(image_case.image.block_size).seconds(reads, page)
        return (now - was) * 1e9

    def _more_metadata_ns(self, reads: Reads) -> float:
        """Return the time of the metadata reads that the recorded start did not do."""
        more = reads.metadata_requests - self.start.recorded_metadata
        if not more or not reads.metadata_requests:
            return 0.0
        sectors = max(reads.metadata_bytes // reads.metadata_requests // SECTOR, 1)
        queue = self.replayed.device.queue()
        return more * queue.submit(0.0, 0, sectors)


def timing(
    start: OnImage,
    present: Case,
    unpacking: Mapping[str, Unpacking],
    device: DeviceModel | None = None,
) -> Timing:
    """Return what is needed to time a start; ``unpacking`` is as measured on the target.

    Of the recorded image's compressor it is learnt from the capture where it was not measured.
    Raises DeviceModelError if the cost of the disk is unknown.
    """
    replayed = prepare(start.inputs, start.version, device)
    if replayed.disk != start.inputs.disks[start.disk]:
        raise DeviceModelError(
            "the start reads most from a disk that does not hold the image",
            "give the mount point of the image with --mountpoint",
        )
    times = dict(unpacking)
    recorded, compressor = None, start.image.superblock.compressor
    blocks = start.inputs.blocks
    if blocks is not None and start.recorded_block_pages > 1:
        at_0 = case(start, None, start.image, start.touches(start.image.block_size, 0), 0)
        recorded = replace(counted(start, at_0, present), metadata_requests=start.recorded_metadata)
        if compressor not in times and blocks.cpu != CpuCost():
            cpu, insert_ns = blocks.cpu, blocks.insert_ns
            times[compressor] = Unpacking(cpu.page_ns - insert_ns, cpu.sector_ns, insert_ns)
    took = timed_windows(replayed.run, [0], replayed.device)[0].total_ns / 1e9
    doubts = (*of_recording(replayed.recording), *of_run(replayed, took))
    texts = tuple(dict.fromkeys(doubt.text for doubt in doubts))
    return Timing(start, replayed, recorded, times, texts)


def with_unpacking(run: Run, sectors: Array, more_ns: float) -> Run:
    """Return a run in which threads unpack for longer, in all by ``more_ns``; negative: for less.

    What a thread unpacks it does after its read, so that others may compute or wait for the disk
    meanwhile. The time is divided by the ``sectors`` that the steps read.
    """
    if not sectors.any():
        return replace(run, tail_ns=run.tail_ns + more_ns)
    steps = run.steps.copy()
    order = np.argsort(steps["thread"], kind="stable")
    same = np.diff(steps["thread"][order]) == 0
    following = order.copy()  # a thread's last step has none
    following[:-1][same] = order[1:][same]
    np.add.at(steps["cpu_ns"], following, more_ns * (sectors / sectors.sum())[order])
    return replace(run, steps=steps)


def relaid_run(run: Run, start: OnImage, image_case: Case) -> Run:
    """Return a run with the files at their places in a case."""
    files = start.files(image_case.image.block_size)
    files["window"] = run.program.files["window"]
    program = replace(run.program, files=files)
    return replace(run, program=program, layout=Layout(_extents(start, image_case)))


def _extents(start: OnImage, image_case: Case) -> Array:
    """Return the EXTENT table: a case's for its files, the recorded table for others.

    A block that squashfs has in its cache, or that is a hole, is marked as unread. Blocks that the
    case does not touch have their places, too: a prefetch list may read them.
    """
    recorded = start.inputs.extents
    kept = recorded[start.file[recorded["file"]] < 0]
    row_of = {file: row for row, file in enumerate(start.file.tolist()) if file >= 0}
    unit = image_case.image.block_size // SECTOR
    read = _read_places(image_case)
    rows = {
        (file, number): place
        for file in row_of
        for number, place in enumerate(_places(image_case.image, file))
    }
    touches = zip(
        *(image_case.touches[name].tolist() for name in ("kind", "row", "number")), strict=True
    )
    for touch, (kind, file, number) in enumerate(touches):
        if kind == Touched.BLOCK:
            rows[file, number] = read.get(touch, (0, 0))
    table = [
        (row_of[file], number * unit, sector, max(sectors, 1), int(sectors > 0))
        for (file, number), (sector, sectors) in rows.items()
    ]
    return np.concatenate([kept, np.array(table, EXTENT)])


def _places(image: SquashfsImage, file: int) -> Iterator[tuple[int, int]]:
    """Yield first sector and sectors of each block that a file does not share."""
    first, number = (int(image.files[name][file]) for name in ("first", "blocks"))
    for at, length in image.blocks[["at", "length"]][first : first + number].tolist():
        sector = at // SECTOR
        yield sector, -(-(at + length) // SECTOR) - sector if length else 0


def _read_places(image_case: Case) -> dict[int, tuple[int, int]]:
    """Return first sector and sectors of the data that each touch reads."""
    reads: Sequence[tuple[int, int, int, int, int]] = image_case.reads.tolist()
    places: dict[int, tuple[int, int]] = {}
    for kind, touch, _, at, length in reads:
        if kind in (ReadOf.DATA, ReadOf.FRAGMENT):
            first, sectors = places.get(touch, (at // SECTOR, 0))
            places[touch] = first, sectors + length // SECTOR
    return places
