"""Offers of values of genes: what they change, what to type, and together with windows."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import pytest
from advice_starts import taken_of
from capture_builder import capture_of, device_of, recording_of
from program_strategy import Script
from timed_runs import run_of

from foreread.analyzer.advise.bench import Bench
from foreread.analyzer.advise.offer import Offer, trial_of
from foreread.analyzer.advise.settings import best_alone, settings, with_windows
from foreread.analyzer.advise.variant import Variant
from foreread.analyzer.advise.windows import _with_window
from foreread.analyzer.ingest.tables import REQUESTS, Table
from foreread.analyzer.predict.start import Start
from foreread.analyzer.program.inode_tables import InodeTables, read_ahead
from foreread.emulator.devices.device import FixedCost
from foreread.emulator.linux.inode_tables import InodeTable
from foreread.emulator.linux.steps import META, CpuCost

QUEUE = {"max_sectors_kb": "1280", "max_hw_sectors_kb": "4096"}
DEVICE = FixedCost(1000, 1000)


def step(block, **more):
    return {"operation": -1, "sector": block * 8, "sectors": 8, "bios": 1, "meta": META, **more}


def variant(mountpoint="/data", device=DEVICE):
    """Two blocks of a table are read, and three pages of a file one by one."""
    script = Script()
    handle = script.open(script.file(64))
    for page in range(3):
        script.read(handle, page)
    rows = [{"operation": 0}, step(42), *({"operation": 1 + page} for page in range(3)), step(60)]
    tables = (InodeTables(mountpoint, 0, 8, 32, (InodeTable(40, 100),)),)
    run, _ = read_ahead(run_of(script, rows), tables)
    recording = recording_of([(0, 0)], [4096], capture=capture_of(devices=[device_of(queue=QUEUE)]))
    start = Start(
        inputs=taken_of(recording, run),
        disk=7 << 20,
        run=run,
        device=device,
        cpu=CpuCost(),
        cpu_samples=None,
        unplugged_ns=0.0,
        notes=(),
        requests=Table.empty(REQUESTS),
        inode_tables=tables,
    )
    return Variant(start, 4, start.timed([0])[0], (0,))


def situation(one):
    return SimpleNamespace(present=(one,), recording=one.start.recording)


def offers(one, gene="inode_readahead_blks"):
    return {offer.what: offer for offer in settings(situation(one)) if offer.gene == gene}


def window(pages):
    return Offer(
        "window", "window", f"{pages}", partial(_with_window, window=pages), (), "one setting", ""
    )


def test_each_value_but_the_present_one_is_offered():
    one = variant()
    assert [*offers(one)] == [
        f"inode_readahead_blks of {value} instead of 32" for value in (0, 8, 128, 512)
    ]
    largest = offers(one, "max_sectors_kb")
    assert "max_sectors_kb of 4,096 instead of 1,280" in largest
    assert offers(one, "nr_requests") == {}


def test_a_start_with_a_value_is_replayed_with_it():
    """Without readahead 42 and 60 alone are read; with 32 before them 32 and 27 more blocks."""
    one = variant()
    off = offers(one)["inode_readahead_blks of 0 instead of 32"].apply(one)
    timed, run = off.timed()
    assert len(timed.work) == len(run.steps) == len(off.recorded.work)
    assert int(timed.work[:, 0].sum()) < int(one.timed()[0].work[:, 0].sum())
    assert off.cost().seconds < one.cost().seconds
    back = offers(off)["inode_readahead_blks of 128 instead of 32"].apply(off)
    assert back.cost().seconds > one.cost().seconds


def test_what_to_type_is_a_remount_and_what_makes_it_last():
    data, root = (next(iter(offers(variant(path)).values())).how for path in ("/data", "/"))
    assert data == (
        "mount -o remount,inode_readahead_blks=0 /data",
        "at every boot: inode_readahead_blks=0 among the options of /data in /etc/fstab",
    )
    assert root[1] == "at every boot: rootflags=inode_readahead_blks=0 on the kernel's command line"
    largest = offers(variant(), "max_sectors_kb")["max_sectors_kb of 64 instead of 1,280"]
    assert largest.how == ("echo 64 >/sys/block/loop0/queue/max_sectors_kb",)


def test_runs_can_have_a_value_unless_the_path_is_unusual():
    offer = next(iter(offers(variant()).values()))
    assert [(one.knob, one.value) for one in offer.trial.settings] == [
        ("mount:inode_readahead_blks=:/data", "0")
    ]
    assert next(iter(offers(variant("/a b")).values())).trial is None


def test_together_runs_have_all_settings():
    one = variant()
    largest = offers(one, "max_sectors_kb")["max_sectors_kb of 64 instead of 1,280"]
    inodes = next(iter(offers(one).values()))
    found = trial_of([largest, inodes])
    assert [each.value for each in found.settings] == ["64", "0"]


@pytest.fixture
def bench():
    one = variant()
    found = Bench(situation(one))
    found.offers = [*offers(one).values()]
    return found


def test_of_each_gene_the_value_that_saves_most_has_a_row(bench):
    assert [one.what for one in best_alone(bench, bench.offers)] == [
        "inode_readahead_blks of 0 instead of 32"
    ]


def test_every_value_is_tried_with_every_window(bench):
    """Each saves: the window four pages that nobody reads, the value 59 blocks."""
    small = [window(0), window(1)]
    (found,) = with_windows(bench, bench.offers, small)
    values = {one.gene: one.what for one in found}
    assert values["inode_readahead_blks"] == "inode_readahead_blks of 0 instead of 32"
    singles = [frozenset([one]) for one in (*bench.offers, *small)]
    assert bench.cost(found).seconds < min(bench.cost(one).seconds for one in singles)


def test_a_window_that_adds_nothing_makes_no_pair(bench):
    assert with_windows(bench, bench.offers, [window(4)]) == []
