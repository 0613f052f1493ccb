"""Steps of a start with readahead in inode tables, made from steps without."""

from dataclasses import replace

import numpy as np
import pytest
from capture_builder import capture_of, recording_of, table_of
from program_strategy import Script
from timed_runs import run_of

from foreread.analyzer.ingest.tables import REQUESTS, Rwbs
from foreread.analyzer.program import inode_tables
from foreread.analyzer.program.inode_tables import (
    InodeTables,
    more_reads,
    recorded_reads,
    tables_of,
)
from foreread.emulator.devices.device import FixedCost
from foreread.emulator.linux.inode_tables import InodeTable
from foreread.emulator.linux.requests import Limits
from foreread.emulator.linux.steps import AHEAD, META, ONCE
from foreread.emulator.stepwise.timed import timed
from foreread.tracer.formats.capture import InodeTables as Recorded
from foreread.tracer.formats.capture import Mount

DISK = 7 << 20
FIRST = 2048  # of the partition, in sectors
EXT4 = InodeTables("/", FIRST, 8, 8, (InodeTable(40, 100),))
DEVICE = FixedCost(1000, 100)
BLOCK = 1400  # ns that it takes for one block: 1000 + 4 KiB
COMPUTED = 50


def step(block, **more):
    return {
        "operation": -1,
        "sector": FIRST + block * 8,
        "sectors": 8,
        "bios": 1,
        "meta": META,
        "cpu_ns": COMPUTED,
        **more,
    }


def run(blocks):
    return run_of(Script(), [step(block) for block in blocks])


def read_ahead(run, *options, **more):
    return inode_tables.read_ahead(run, *options, **more)[0]


def reads(steps):
    """Block, number of blocks, and whether it is read ahead, of each read."""
    found = steps[steps["sectors"] > 0]
    begin = (found["sector"].astype(int) - FIRST) // 8
    ahead = (found["meta"] & AHEAD) > 0
    return list(zip(begin.tolist(), (found["sectors"] // 8).tolist(), ahead.tolist(), strict=True))


def test_blocks_around_a_needed_one_are_read_ahead_of_it():
    """42 is in the blocks 40 to 48, of which 44 then is there; 20 is in no table."""
    found = read_ahead(run([42, 44, 20]), [EXT4])
    assert reads(found.steps) == [
        (40, 2, True),
        (43, 6, True),
        (42, 1, False),
        (44, 1, False),
        (20, 1, False),
    ]
    assert found.steps["bios"].tolist() == [2, 6, 1, 1, 1]
    assert (found.steps["meta"] & ONCE > 0).tolist() == [True] * 4 + [False]
    assert found.steps["cpu_ns"].tolist() == [COMPUTED, 0, 0, COMPUTED, COMPUTED]


def test_a_block_that_was_read_ahead_is_waited_for():
    """40-41 until 50 + 1800, 43-48 until 5250, 42 until 6650; 44 is there, and 20 takes BLOCK."""
    found = timed(read_ahead(run([42, 44, 20]), [EXT4]), 0, DEVICE)
    assert found.work[:, 0].tolist() == [1, 1, 1, 0, 1]
    assert found.total_ns == COMPUTED + 1800 + 3400 + BLOCK + COMPUTED + COMPUTED + BLOCK


def test_another_value_replaces_what_was_read_ahead():
    usual = read_ahead(run([42, 44, 60]), [EXT4])
    off = read_ahead(usual, [EXT4], 0)
    assert reads(off.steps) == [(42, 1, False), (44, 1, False), (60, 1, False)]
    assert timed(off, 0, DEVICE).total_ns == 3 * (COMPUTED + BLOCK)
    assert reads(read_ahead(off, [EXT4]).steps) == reads(usual.steps)
    assert reads(read_ahead(usual, [EXT4], 2).steps) == [
        *((43, 2, True), (42, 1, False), (44, 1, False)),
        *((61, 2, True), (60, 1, False)),
    ]


def test_requests_are_as_long_as_the_disk_takes_them():
    small = replace(run([42]), limits=Limits(8))
    assert [number for _, number, _ in reads(read_ahead(small, [EXT4]).steps)] == [2, 2, 2, 2, 1]
    few = replace(run([42]), limits=Limits(1280, max_segments=3))
    assert [number for _, number, _ in reads(read_ahead(few, [EXT4]).steps)] == [2, 3, 3, 1]


def test_a_limiter_holds_the_blocks_apart():
    assert len(reads(read_ahead(run([42]), [EXT4], apart=True).steps)) == 1 + 8


def test_waits_for_other_steps_stay_those_of_the_same_steps():
    rows = [step(42), step(60), step(20, waits_for=1, thread=1)]
    found = read_ahead(run_of(Script(), rows), [EXT4]).steps
    awaited = found[found["waits_for"][-1]]
    assert (awaited["sector"], awaited["meta"]) == (FIRST + 60 * 8, META | ONCE)


def test_requests_without_readahead_are_counted_as_they_were_recorded():
    recorded = run([42, 44, 20, 60])
    for value in (0, 8, 64):
        changed = read_ahead(recorded, [EXT4], value)
        assert recorded_reads(changed, timed(changed, 0, DEVICE).work, [EXT4]) == 4


def test_more_requests_and_sectors_than_recorded():
    """For 42 two requests of 8 blocks, none for 44, for 60 two of 8; a write is none."""
    blocks = np.array([42, 44, 20, 60, 80])
    flags = [int(Rwbs.READ | Rwbs.META)] * 4 + [int(Rwbs.WRITE)]
    table = table_of(REQUESTS, 5, sector=FIRST + blocks * 8, sectors=8, flags=flags)
    assert more_reads([EXT4], table) == (2 - 1 + 2, (8 - 1 + 8) * 8)


def recording(**changes):
    base = {
        "block_bytes": 4096,
        "read_ahead_blocks_before": 8,
        "read_ahead_blocks": 0,
        "tables": [(40, 100)],
    }
    mount = Mount(
        dev="7:0",
        mountpoint="/",
        fstype="ext4",
        source="",
        options="",
        first_sector=FIRST,
        inode_tables=Recorded(**{**base, **changes}),
    )
    return recording_of([(0, 0)], [4096], capture=capture_of(mounts=[mount]))


def test_tables_are_those_of_the_disk_that_were_read_without_readahead():
    assert tables_of(recording(), DISK) == (EXT4,)
    assert tables_of(recording(), DISK + 1) == ()


@pytest.mark.parametrize("changes", [{"read_ahead_blocks": 8}, {"tables": []}])
def test_nothing_is_known_of_tables_read_with_readahead(changes):
    assert tables_of(recording(**changes), DISK) == ()
