"""Inode tables in a capture: those that a run read from, and their knobs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from foreread.tracer.formats.capture import InodeTables, Mount
from foreread.tracer.local.inode_tables import without_readahead
from foreread.tracer.runs.inode_tables import devices_of, knobs_off, tables_off, with_tables
from foreread.tracer.runs.knobs import KnobRefused

KNOB = "/sys/fs/ext4/sda1/inode_readahead_blks"
TABLES = [(40, 60), (1040, 1100), (2040, 2050)]
FIRST = 2048  # of the partition, in sectors


@pytest.fixture
def devices(tmp_path):
    """Return a machine with ext4 on the partition sda1 (8:1), and a tmpfs."""
    numbers = tmp_path / "dev/block"
    numbers.mkdir(parents=True)
    disk = tmp_path / "block/sda/sda1"
    disk.mkdir(parents=True)
    (numbers / "8:1").symlink_to(disk)
    mounts = [SimpleNamespace(dev="8:1", fstype="ext4"), SimpleNamespace(dev="0:5", fstype="tmpfs")]
    return SimpleNamespace(
        sys=tmp_path,
        mounts=mounts,
        disk_of_dev=lambda dev: "sda" if dev == "8:1" else None,
        disk=lambda name: SimpleNamespace(dev="8:0"),
    )


def mount(dev):
    return Mount(dev=dev, mountpoint="/", fstype="ext4", source="", options="", first_sector=FIRST)


def tables(**changes):
    base = {"block_bytes": 4096, "read_ahead_blocks_before": 32, "read_ahead_blocks": 0}
    return InodeTables(**{**base, "tables": TABLES, **changes})


def test_an_ext4_on_a_partition_has_its_knob(devices):
    assert devices_of(devices) == {"8:1": KNOB}


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [([39, 61], []), ([40], TABLES[:1]), ([1100, 2040], TABLES[1:]), ([], [])],
)
def test_tables_that_were_read_from_are_kept(devices, blocks, expected):
    reads = {"8:0": [(FIRST + block * 8, 8) for block in blocks]}
    found = with_tables([mount("8:1"), mount("0:5")], {"8:1": tables()}, devices, reads)
    assert [one.inode_tables and one.inode_tables.tables for one in found] == [expected, None]


def test_all_tables_are_kept_where_the_reads_are_unknown(devices):
    (found,) = with_tables([mount("8:1")], {"8:1": tables()}, devices, None)
    assert found.inode_tables == tables()


def test_readahead_that_cannot_be_turned_off_leaves_no_tables(devices, monkeypatch):
    refused = KnobRefused("refused", "")
    journal = SimpleNamespace(original=lambda knob: "32", set_all=lambda _: {KNOB: refused})
    monkeypatch.setattr("foreread.tracer.local.inode_tables._read", lambda *_: (4096, TABLES))
    assert without_readahead(journal, devices) == {}
    journal.set_all = dict
    assert without_readahead(journal, devices) == {"8:1": tables()}


def test_a_target_turns_it_off_where_the_tables_are_known(devices):
    assert knobs_off({}, devices) == []
    assert knobs_off({"8:1": (4096, TABLES)}, devices) == [(KNOB, "0")]


def test_tables_of_a_target_have_the_values_before_and_during_the_run(devices):
    places = {"8:1": (4096, TABLES)}
    assert tables_off(places, devices, {KNOB: 32}, {KNOB: 0}) == {"8:1": tables()}
    refused = tables_off(places, devices, {KNOB: 32}, {KNOB: 32})
    assert refused == {"8:1": tables(read_ahead_blocks=32)}
    assert tables_off(places, devices, {}, {}) == {}
    assert tables_off({}, devices, {KNOB: 32}, {KNOB: 0}) == {}
