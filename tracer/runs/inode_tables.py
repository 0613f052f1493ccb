"""The inode tables of mounted ext4 file systems: without readahead while a start is recorded.

Then each block of a table is read when the start needs it, as a page of a file is at a window of 0,
and what any other inode_readahead_blks would read can be computed (emulator/linux/inode_tables.py).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence

from msgspec import structs

from foreread.boards.device import Devices
from foreread.tracer.formats.capture import InodeTables, Mount
from foreread.tracer.formats.seen import Reads

KINDS = ("ext2", "ext3", "ext4")  # fs/ext4 mounts all of them
KNOB = "/sys/fs/ext4/{disk}/inode_readahead_blks"  # as boards/knobs.toml has it
OFF = "0"
_SECTOR = 512
Places = tuple[int, list[tuple[int, int]]]  # bytes of a block; first and last block of tables
Tables = Mapping[str, InodeTables]  # by the superblock's "major:minor"


def devices_of(devices: Devices) -> dict[str, str]:
    """Return the knob of each mounted ext4, by the superblock's "major:minor"."""
    knobs = {}
    for dev in sorted({mount.dev for mount in devices.mounts if mount.fstype in KINDS}):
        link = devices.sys / "dev/block" / dev
        if link.exists():
            knobs[dev] = KNOB.format(disk=link.resolve().name)
    return knobs


def with_tables(
    mounts: Iterable[Mount], tables: Tables, devices: Devices, reads: Reads | None
) -> list[Mount]:
    """Return the mounts with the tables that were read from; with all if ``reads`` is None."""
    with_own = []
    for mount in mounts:
        own_tables = tables.get(mount.dev)
        disk = devices.disk_of_dev(mount.dev)
        if own_tables is not None and reads is not None and disk is not None:
            own = reads.get(devices.disk(disk).dev, ())
            own_tables = structs.replace(
                own_tables, tables=_used(own_tables, mount.first_sector, own)
            )
        with_own.append(structs.replace(mount, inode_tables=own_tables))
    return with_own


def _used(
    tables: InodeTables, first_sector: int, reads: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    unit = tables.block_bytes // _SECTOR
    blocks = sorted((sector - first_sector) // unit for sector, _ in reads)
    return [
        (first, last)
        for first, last in tables.tables
        if bisect_left(blocks, first) < bisect_right(blocks, last)
    ]


def knobs_off(places: Mapping[str, Places], devices: Devices) -> list[tuple[str, str]]:
    """Return the knobs that turn readahead in known tables off, with their value."""
    return [(knob, OFF) for dev, knob in devices_of(devices).items() if dev in places]


def tables_off(
    places: Mapping[str, Places],
    devices: Devices,
    before: Mapping[str, int],
    in_force: Mapping[str, int],
) -> dict[str, InodeTables]:
    """Return the tables, with the values of their knobs before and during the run."""
    return {
        dev: InodeTables(
            block_bytes=places[dev][0],
            read_ahead_blocks_before=before[knob],
            read_ahead_blocks=in_force[knob],
            tables=places[dev][1],
        )
        for dev, knob in devices_of(devices).items()
        if dev in places and knob in before and knob in in_force
    }
