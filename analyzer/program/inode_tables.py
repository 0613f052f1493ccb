"""The readahead in inode tables of ext4 that a start has under any inode_readahead_blks.

The recorder turns it off (tracer/runs/inode_tables.py), so that each recorded read of a table's
block was needed. What is read ahead then follows from the tables' places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Rwbs, Table
from foreread.analyzer.program.added_steps import new_steps, with_added
from foreread.emulator.linux.inode_tables import InodeTable, reads_ahead
from foreread.emulator.linux.inode_tables import Run as Blocks
from foreread.emulator.linux.requests import SECTOR, Limits
from foreread.emulator.linux.steps import AHEAD, ONCE, Run
from foreread.tracer.formats.capture import Mount, dev_of


@dataclass(frozen=True)
class InodeTables:
    """The inode tables of a file system: blocks of ``unit`` sectors from ``first_sector`` on.

    ``ahead`` is the inode_readahead_blks that it has when nothing is recorded.
    """

    mountpoint: str
    first_sector: int
    unit: int
    ahead: int
    tables: tuple[InodeTable, ...]

    def needed(self, sectors: Array) -> Iterator[tuple[int, int, InodeTable]]:
        """Yield row, block and table of the sectors at which blocks of the tables begin."""
        firsts = [table.first for table in self.tables]
        at = sectors.astype(np.int64) - self.first_sector
        blocks = np.where(at % self.unit == 0, at // self.unit, -1)
        which = np.searchsorted(firsts, blocks, side="right") - 1
        for row in np.flatnonzero(which >= 0).tolist():
            table, block = self.tables[int(which[row])], int(blocks[row])
            if block <= table.last:
                yield row, block, table

    def reads_ahead(
        self, needed: Sequence[tuple[int, int, InodeTable]], ahead: int
    ) -> Iterator[tuple[int, list[Blocks] | None]]:
        """Yield each row with what is read ahead for its block; None: it is in memory."""
        blocks = reads_ahead(((block, table) for _, block, table in needed), ahead)
        yield from zip((row for row, _, _ in needed), blocks, strict=True)


def tables_of(recording: Recording, disk: int) -> tuple[InodeTables, ...]:
    """Return the tables that were read from a disk (dev_t) without readahead."""
    by_dev = {dev_of(mount.dev): mount for mount in recording.capture.mounts}
    return tuple(
        _of_mount(mount)
        for dev, mount in by_dev.items()
        if recording.devices.get(dev, dev) == disk
        and mount.inode_tables is not None
        and mount.inode_tables.tables
        and not mount.inode_tables.read_ahead_blocks
    )


def _of_mount(mount: Mount) -> InodeTables:
    recorded = mount.inode_tables
    assert recorded is not None
    return InodeTables(
        mount.mountpoint,
        mount.first_sector,
        max(recorded.block_bytes // SECTOR, 1),
        recorded.read_ahead_blocks_before,
        tuple(InodeTable(first, last) for first, last in sorted(recorded.tables)),
    )


def read_ahead(
    run: Run, file_systems: Sequence[InodeTables], ahead: int | None = None, apart: bool = False
) -> tuple[Run, Array]:
    """Return a run that reads inode tables ahead: by ``ahead`` blocks, or as they do by themselves.

    With it come the rows of the given run's steps before which others were added, sorted.
    Neighbours are one request, as a plug makes them; ``apart``: each block is a request, since a
    limiter holds the bios apart.
    """
    steps = run.steps.copy()
    steps["sectors"][_is_ahead(steps)] = 0
    rows: list[int] = []
    reads: list[tuple[int, int, int]] = []  # sector, sectors, bios
    for tables in file_systems:
        most = 1 if apart else _most_blocks(run.limits, tables.unit)
        for row, runs in tables.reads_ahead(
            _needed(tables, steps), tables.ahead if ahead is None else ahead
        ):
            steps["meta"][row] |= ONCE
            for first, number in _parts(runs or (), most):
                rows.append(row)
                reads.append(
                    (tables.first_sector + first * tables.unit, number * tables.unit, number)
                )
    added = new_steps(len(rows))
    for name, column in zip(("sector", "sectors", "bios"), np.array(reads).T, strict=False):
        added[name] = column
    added["meta"] = AHEAD | ONCE
    merged, at = with_added(steps, rows, added)
    return replace(run, steps=merged), at


def _is_ahead(steps: Array) -> Array:
    return np.asarray((steps["operation"] < 0) & ((steps["meta"] & AHEAD) > 0))


def _needed(tables: InodeTables, steps: Array) -> list[tuple[int, int, InodeTable]]:
    """Return the steps that need blocks of the tables, with block and table."""
    reads = np.flatnonzero((steps["operation"] < 0) & (steps["sectors"] > 0) & ~_is_ahead(steps))
    needed = tables.needed(steps["sector"][reads])
    return [(int(reads[row]), block, table) for row, block, table in needed]


def _most_blocks(limits: Limits, unit: int) -> int:
    return max(min(limits.max_sectors // unit, limits.max_segments), 1)


def _parts(runs: Sequence[Blocks], most: int) -> Iterator[Blocks]:
    for first, number in runs:
        for at in range(0, number, most):
            yield first + at, min(most, number - at)


def more_reads(file_systems: Sequence[InodeTables], requests: Table) -> tuple[int, int]:
    """Return by how many requests and blocks the recorded ``requests`` grow with readahead."""
    reads = requests["sector"][(requests["flags"] & Rwbs.READ) > 0]
    more, sectors = 0, 0
    for tables in file_systems:
        for _, runs in tables.reads_ahead([*tables.needed(reads)], tables.ahead):
            more += -1 if runs is None else len(runs)
            sectors += tables.unit * (-1 if runs is None else sum(number for _, number in runs))
    return more, sectors


def recorded_reads(run: Run, work: Array, file_systems: Sequence[InodeTables]) -> int:
    """Return how many requests a replay with this ``work`` makes without readahead."""
    ahead = _is_ahead(run.steps)
    needed = [row for tables in file_systems for row, _, _ in _needed(tables, run.steps)]
    spared = int((work[needed, 0] == 0).sum())
    return int(work[~ahead, 0].sum()) + spared
