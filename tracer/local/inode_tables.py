"""The inode tables of mounted ext4 file systems, whose readahead is off while a start is recorded.

Then each block of a table is read when the start needs it, as a page of a file is at a window of 0,
and what any other inode_readahead_blks would read can be computed (emulator/linux/inode_tables.py).
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import structs

from foreread.boards.device import Devices
from foreread.tracer.formats.capture import InodeTables, Mount
from foreread.tracer.formats.seen import Reads
from foreread.tracer.local import ext4
from foreread.tracer.local.journal import Journal
from foreread.tracer.local.knobs import KnobRefused

KINDS = ("ext2", "ext3", "ext4")  # fs/ext4 mounts all of them
KNOB = "/sys/fs/ext4/{disk}/inode_readahead_blks"  # as boards/knobs.toml has it
OFF = "0"
_SECTOR = 512
Places = tuple[int, list[tuple[int, int]]]  # bytes of a block; first and last block of tables
Tables = Mapping[str, InodeTables]  # by the superblock's "major:minor"


def devices_of(devices: Devices) -> dict[str, str]:
    """Return the knob of each mounted ext4, by the superblock's "major:minor"."""
    found = {}
    for dev in sorted({mount.dev for mount in devices.mounts if mount.fstype in KINDS}):
        link = devices.sys / "dev/block" / dev
        if link.exists():
            found[dev] = KNOB.format(disk=link.resolve().name)
    return found


def without_readahead(journal: Journal, devices: Devices) -> Tables:
    """Turn readahead in inode tables off where the tables are known; return these."""
    found = {}
    for dev, knob in devices_of(devices).items():
        geometry = _read(devices, dev)
        if geometry is None:
            continue
        try:
            before = int(journal.target.read_knob(knob))
            in_force = int(journal.set(knob, OFF))
        except (OSError, KnobRefused):
            continue  # an ext2 of another driver, or a container's /sys
        block, tables = geometry
        found[dev] = InodeTables(
            block_bytes=block,
            read_ahead_blocks_before=before,
            read_ahead_blocks=in_force,
            tables=tables,
        )
    return found


def with_tables(
    mounts: Iterable[Mount], tables: Tables, devices: Devices, reads: Reads | None
) -> list[Mount]:
    """Return the mounts with the tables that were read from; with all if ``reads`` is None."""
    found = []
    for mount in mounts:
        known = tables.get(mount.dev)
        disk = devices.disk_of_dev(mount.dev)
        if known is not None and reads is not None and disk is not None:
            own = reads.get(devices.disk(disk).dev, ())
            known = structs.replace(known, tables=_used(known, mount.first_sector, own))
        found.append(structs.replace(mount, inode_tables=known))
    return found


def _used(
    known: InodeTables, first_sector: int, reads: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    unit = known.block_bytes // _SECTOR
    blocks = sorted((sector - first_sector) // unit for sector, _ in reads)
    return [
        (first, last)
        for first, last in known.tables
        if bisect_left(blocks, first) < bisect_right(blocks, last)
    ]


def _read(devices: Devices, dev: str) -> Places | None:
    name = (devices.sys / "dev/block" / dev).resolve().name.replace("!", "/")
    try:
        with Path("/dev", name).open("rb", buffering=0) as node:
            return ext4.inode_tables(lambda blocks, size: _blocks(node.fileno(), blocks, size))
    except OSError:
        return None


def _blocks(node: int, blocks: Sequence[int], size: int) -> dict[int, bytes]:
    """Return blocks that follow each other."""
    raw = os.pread(node, len(blocks) * size, blocks[0] * size)
    parts = (raw[at : at + size] for at in range(0, len(raw), size))
    return dict(zip(blocks, parts, strict=False))
