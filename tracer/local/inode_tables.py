"""The inode tables of this machine's ext4 file systems, read without readahead in a recording."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from foreread.boards.device import Devices
from foreread.tracer.formats.capture import InodeTables
from foreread.tracer.local.journal import Journal
from foreread.tracer.runs import ext4
from foreread.tracer.runs.inode_tables import OFF, Places, Tables, devices_of
from foreread.tracer.runs.knobs import KnobRefused


def without_readahead(journal: Journal, devices: Devices) -> Tables:
    """Turn readahead in inode tables off where the tables are known; return these."""
    knobs = devices_of(devices)
    places = {dev: read for dev in knobs if (read := _read(devices, dev)) is not None}
    outcomes = journal.set_all([(knobs[dev], OFF) for dev in places])
    tables = {}
    for dev, (block, ranges) in places.items():
        in_force = outcomes[knobs[dev]]
        if isinstance(in_force, KnobRefused):
            continue  # an ext2 of another driver, or a container's /sys
        tables[dev] = InodeTables(
            block_bytes=block,
            read_ahead_blocks_before=int(journal.original(knobs[dev])),
            read_ahead_blocks=int(in_force),
            tables=ranges,
        )
    return tables


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
