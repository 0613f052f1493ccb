"""The input of the kernel's emulation from a recording: program, files, places, machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from foreread.analyzer.ingest.inserts import devices_of
from foreread.analyzer.ingest.reclaimed import shows_later_uses
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Rwbs
from foreread.analyzer.predict.disks import DiskReads, device_of, disks_of_files, reads_of, sizes_of
from foreread.analyzer.program.build import build
from foreread.boards.base.units import kib_to_pages
from foreread.emulator.linux.filesystems import (
    WITHOUT_WINDOW,
    has_large_folios,
    own_io_pages,
)
from foreread.emulator.linux.operations import FILE, Machine, Program
from foreread.emulator.linux.requests import EXTENT, SECTOR, Limits
from foreread.emulator.linux.rules import Version
from foreread.tracer.formats.capture import HUGE_PAGES, Device, Metadata, Mount, dev_of

if TYPE_CHECKING:
    from foreread.analyzer.program.blocks import Blocks

_FAULT_AROUND = 64 << 10  # bytes, mm/memory.c
_EXEC_FOLIO = 64 << 10  # bytes, arch/arm64/include/asm/pgtable.h exec_folio_order
ASSUMED_KB = 1280  # BLK_DEF_MAX_SECTORS of most kernels, include/linux/blkdev.h
_NO_LIMITS = Limits(ASSUMED_KB)
LARGEST = "max_sectors_kb"
_OWN_DEVICE = "/sys/class/bdi/"


@dataclass(frozen=True, eq=False)
class Inputs:
    """The input of an emulation.

    ``disks`` are dev_t, ``disk_of_file`` (by file row) indexes them; ``extents`` is an EXTENT
    table; ``times`` (ns) are those of the operations; ``notes`` say what was assumed. ``blocks``
    are those of squashfs, None if nothing is read from one. ``own_io_pages`` is, by disk, the
    largest request of a backing device that its files have instead of the disk (btrfs); None: they
    have the disk's. ``reads`` are the requests that each disk served; ``tails`` as
    ``inline_tails``.
    """

    recording: Recording
    program: Program
    times: Array
    extents: Array
    disks: list[int]
    disk_of_file: Array
    notes: list[str]
    blocks: Blocks | None = None
    own_io_pages: tuple[int | None, ...] = ()
    reads: tuple[DiskReads, ...] = ()
    tails: frozenset[tuple[int, int]] = frozenset()

    def machine(self, row: int) -> tuple[Machine, Limits]:
        """Return the kernel state that the application and the disk ``disks[row]`` set."""
        machine, limits = _machine(self.recording, self.device(row), self.largest_kb(row))
        own = self.own_io_pages[row] if self.own_io_pages else None
        return (machine if own is None else replace(machine, io_pages=own)), limits

    def largest_kb(self, row: int) -> int:
        """Return the largest read (KiB) that the disk ``disks[row]`` served while recording."""
        requests = self.recording.requests
        read = (requests["dev"] == self.disks[row]) & ((requests["flags"] & Rwbs.READ) > 0)
        return -(-int(requests["sectors"][read].max(initial=0)) // 2)

    def device(self, row: int) -> Device | None:
        """Return what the capture has of the disk ``disks[row]``."""
        return device_of(self.recording, self.disks[row])


def inputs(recording: Recording, version: Version) -> Inputs:
    """Return a recording's program, files and their places, for a kernel."""
    built = build(recording, _files(recording, version))
    disks, disk_of_file = disks_of_files(recording)
    block_pages = built.program.files["block_pages"]
    blocks = _blocks(recording, block_pages)
    tails = inline_tails(recording)
    return Inputs(
        recording,
        built.program,
        built.times,
        _extents(recording, [*built.holes, *tails], blocks),
        disks.tolist(),
        disk_of_file,
        built.notes,
        blocks,
        tuple(
            own_io_pages_of(recording, version, disk_of_file == row) for row in range(len(disks))
        ),
        tuple(reads_of(recording, disk) for disk in disks.tolist()),
        frozenset(tails),
    )


def _blocks(recording: Recording, block_pages: Array) -> Blocks | None:
    """Return the compressed blocks of a recording; None if its files have none."""
    if not block_pages.any():
        return None
    from foreread.analyzer.program.blocks import blocks_of  # noqa: PLC0415  (few roots are squashfs)

    return blocks_of(recording, block_pages)


def own_io_pages_of(recording: Recording, version: Version, of_disk: Array) -> int | None:
    """Return the largest request of the file systems of a disk's accessed files, if not its own.

    ``of_disk`` are the files on the disk.
    """
    capture = recording.capture
    own = {dev_of(stack.dev) for stack in capture.stacks if stack.knob.startswith(_OWN_DEVICE)}
    own |= {dev for dev, mount in _mounts(capture).items() if mount.fstype == "btrfs"}
    used = set(recording.files["dev"][of_disk & (recording.files["accessed"] > 0)].tolist())
    if not used or not used <= own:
        return None
    return own_io_pages(version, recording.page_size)


def _files(recording: Recording, version: Version) -> Array:
    """Return the FILE table: what each file is to readahead."""
    mounts = _mounts(recording.capture)
    large_folios = large_folios_by_dev(recording, version)
    rows = []
    links = _links(recording)
    columns = (recording.files["dev"].tolist(), sizes_of(recording).tolist())
    for row, (dev, size) in enumerate(zip(*columns, strict=True)):
        mount = mounts.get(dev)
        fstype = mount.fstype if mount else ""
        block = 0 if row in links else recording.block_pages.get(dev, 0)
        rows.append(
            (size, large_folios.get(dev, False), block, 0 if fstype in WITHOUT_WINDOW else -1)
        )
    return np.array(rows, FILE)


def large_folios_by_dev(recording: Recording, version: Version) -> dict[int, bool]:
    """Return whether the files of each mounted file system (dev_t) are in large folios."""
    huge = may_have_huge_pages(recording.capture)
    return {
        dev: huge and has_large_folios(mount.fstype, mount.options, version)
        for dev, mount in _mounts(recording.capture).items()
    }


def may_have_huge_pages(capture: Metadata) -> bool:
    """Return whether nothing shows that a recorded kernel has no transparent huge pages.

    Those of 32 bits that have none are most of them.
    """
    host = capture.host
    if host is None:
        return True
    return host.long_size == 8 and host.kernel_options.get(HUGE_PAGES) != "n"


def _mounts(capture: Metadata) -> dict[int, Mount]:
    return {dev_of(mount.dev): mount for mount in capture.mounts}


def _extents(recording: Recording, holes: list[tuple[int, int]], blocks: Blocks | None) -> Array:
    """Return the EXTENT table, in sectors of the disk; a file without extents has nothing to read.

    Of files whose place is unknown only the ``holes`` (file row, page) are listed: unread pieces.
    """
    mounts = _mounts(recording.capture)
    rows: list[tuple[int, int, int, int, int]] = []
    unknown, links = set(), _links(recording)
    devs = recording.files["dev"].tolist()
    for file, (entry, dev) in enumerate(zip(recording.entries, devs, strict=False)):
        if file in links and dev in mounts and mounts[dev].fstype == "squashfs":
            rows.append((file, 0, 0, 1, 0))  # its text is in its inode
            continue
        if entry is None or entry.extents is None:
            unknown.add(file)
            continue
        start = mounts[dev].first_sector if dev in mounts else 0
        rows += [
            (file, e.at // SECTOR, start + e.physical // SECTOR, e.length // SECTOR, int(e.written))
            for e in entry.extents
        ]
        if not entry.extents:
            rows.append((file, 0, 0, 1, 0))
    rows += blocks.rows if blocks else []
    rows += _around(sorted(set(holes)), unknown, recording.page_size // SECTOR)
    return np.array(rows, EXTENT)


def inline_tails(recording: Recording) -> list[tuple[int, int]]:
    """Return (file row, page) of last pages in part; all but those that a read was seen to fill.

    mkfs.erofs puts the end of an uncompressed file that does not fill a page beside the inode if
    there is room (EROFS_INODE_FLAT_INLINE); the kernel copies it from there, and reads no data
    (erofs_map_blocks with EROFS_MAP_META, fs/erofs/data.c, 6.12). Empty if no such page came in
    without a read: then files are not known to have their ends there.
    """
    capture, inserts = recording.capture, recording.inserts
    if inserts is None or not inserts.reads_recorded:
        return []
    types = {dev_of(mount.dev): mount.fstype for mount in capture.mounts}
    here = devices_of(types, {"erofs"})
    files, page = recording.files, recording.page_size
    columns = (files[name].tolist() for name in ("dev", "ino", "size_bytes"))
    last = {
        (dev, ino, size // page): row
        for row, (dev, ino, size) in enumerate(zip(*columns, strict=True))
        if dev in here and size > 0 and size % page
    }
    mask = np.isin(inserts.data["dev"], here)
    data = inserts.data.take(mask)
    keys = zip(*(data[name].tolist() for name in ("dev", "ino", "index")), strict=True)
    # A page without a read looks like part of the next read of its file, and is not alone in it.
    read = dict(zip(keys, inserts.alone[mask].tolist(), strict=True))
    if not any(key in last and not alone for key, alone in read.items()):
        return []
    return [(row, key[2]) for key, row in last.items() if not read.get(key, False)]


def _links(recording: Recording) -> set[int]:
    """Return the rows of symbolic links, which are read page by page at any window."""
    return {row for row, entry in enumerate(recording.entries) if entry and entry.link}


def _around(
    holes: list[tuple[int, int]], files: set[int], page_sectors: int
) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield the extents of files that have holes and are contiguous otherwise."""
    ends: dict[int, int] = {}
    for file, page in holes:
        if file in files:
            at, end = ends.get(file, 0), page * page_sectors
            yield file, at, (file << 40) + at, end - at, 1
            ends[file] = end + page_sectors
    for file, at in ends.items():
        yield file, at, (file << 40) + at, 1 << 39, 1


def _machine(
    recording: Recording, device: Device | None, largest_kb: int
) -> tuple[Machine, Limits]:
    host = recording.capture.host
    cpu = host.machine if host is not None else ""
    queue = dict(device.queue) if device else {}
    # The trace knows better than a file of sysfs that was copied from elsewhere, or read later.
    if (_number(queue.get(LARGEST, "")) or _NO_LIMITS.max_sectors_kb) < largest_kb:
        queue[LARGEST] = str(largest_kb)
    machine, limits = machine_of(recording.page_size, cpu, queue)
    memory = recording.capture.memory
    generations = memory is not None and bool(memory.multi_gen_lru)
    code_stays = not shows_later_uses(recording)
    return replace(machine, generations=generations, code_stays=code_stays), limits


def machine_of(page: int, cpu: str, queue: Mapping[str, str]) -> tuple[Machine, Limits]:
    """Return the kernel state set by page size, machine (``uname -m``) and queue of the disk."""
    limits = _limits(queue)
    return Machine(
        page_size=page,
        io_pages=kib_to_pages(limits.max_sectors_kb, page),
        fault_around=max(_FAULT_AROUND // page, 1),
        table_pages=page // 8,
        exec_order=(max(_EXEC_FOLIO // page, 1)).bit_length() - 1 if cpu == "aarch64" else 0,
    ), limits


def _limits(queue: Mapping[str, str]) -> Limits:
    names = (LARGEST, "max_segments", "max_segment_size", "nr_requests")
    numbers = {name: _number(queue.get(name, "")) for name in names}
    return replace(_NO_LIMITS, **{name: number for name, number in numbers.items() if number})


def _number(text: str) -> int:
    """Return the number of a file in sysfs, 0 if it is missing or invalid."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 11 else 0
