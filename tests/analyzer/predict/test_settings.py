"""Genes beside the window that a replay predicts: which values, which are best, and why none."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from importlib import resources

import pytest
from capture_builder import ROOT_PID, capture_of, device_of
from event_table import R, event, metadata_insert, read, switch, table, wake
from msgspec import structs
from recorded_threads import ENTRY, IDLE, LINUX, ended, missed

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import Kind
from foreread.analyzer.predict import seconds as predicted_seconds
from foreread.analyzer.predict import start as prepared_start
from foreread.analyzer.predict.inputs import inputs
from foreread.analyzer.predict.linux import predict_linux
from foreread.analyzer.predict.predicted_settings import predicted_settings
from foreread.analyzer.predict.settings import (
    INODES,
    LARGEST,
    LEVELS,
    QUEUE,
    Setting,
    best_settings,
    seconds_with,
    settings_of,
    unpredicted,
)
from foreread.analyzer.predict.start import prepare
from foreread.emulator.devices.device import FixedCost
from foreread.emulator.devices.paced import Paced
from foreread.tracer.formats.capture import InodeTables, Mount

META = 1 << 3
TABLES = {"block_bytes": 4096, "read_ahead_blocks_before": 32, "read_ahead_blocks": 0}
NEEDED = (1042, 1044, 1060, 1090)  # blocks of a table
TABLE = (1030, 1100)
SIZES = FixedCost(0, 220)  # as recorded: every KiB counts
REQUESTS = FixedCost(100_000, 0.1)  # every request counts


def looked_up(at, block):
    sector, flags = block * 8, R | META
    return [
        metadata_insert(block, pid=ROOT_PID, time_ns=at),
        read(sector, 1, pid=ROOT_PID, time_ns=at + 50, flags=flags),
        event(Kind.RQ_ISSUE, pid=ROOT_PID, index=sector, value=8, flags=flags, time_ns=at + 60),
        switch(at + 100, ROOT_PID, IDLE, 2),
        event(Kind.RQ_COMPLETE, pid=IDLE, index=sector, value=8, flags=flags, time_ns=at + 900),
        wake(at + 910, IDLE, ROOT_PID, 16),
        switch(at + 950, IDLE, ROOT_PID),
    ]


def mounted(tables=(TABLE,), fstype="ext4", **changes):
    known = None if tables is None else InodeTables(tables=[*tables], **{**TABLES, **changes})
    return Mount(
        dev="7:0", mountpoint="/", fstype=fstype, source="", options="", inode_tables=known
    )


def started(mount=None, device=SIZES, queue=None):
    events = [switch(1000, IDLE, ROOT_PID)]
    for row, block in enumerate(NEEDED):
        events += looked_up(2000 + 2000 * row, block)
    events += [*missed(12_000, 0), *ended(16_000, ROOT_PID)]
    capture = capture_of(
        end_ns=16_000,
        mounts=[mounted() if mount is None else mount],
        devices=[device_of(filesystems=["7:0"], queue=queue or {})],
    )
    rows = sorted(events, key=lambda row: row[0])
    recording = interpret(Trace("test", table(*rows), kernel="6.18.0"), capture, [ENTRY], "tree")
    return prepare(inputs(recording, LINUX), LINUX, device)


def values(start, gene):
    return [one.value for one in settings_of(start, [gene])]


def test_the_levels_are_those_that_the_tuner_tries():
    text = (resources.files("foreread.analyzer.tuner.space") / "catalogue.toml").read_text()
    genes = {gene["name"]: gene for gene in tomllib.loads(text)["gene"]}
    for name, levels in LEVELS.items():
        assert [*levels] == genes[name]["levels"]


def test_values_of_inode_readahead_are_offered_where_tables_were_recorded():
    assert values(started(), INODES) == [0, 8, 128, 512]
    assert values(started(mounted(read_ahead_blocks_before=8)), INODES) == [0, 32, 128, 512]
    assert values(started(mounted(None)), INODES) == []


def test_where_bytes_count_less_is_read_ahead_and_where_requests_count_more():
    """At 0 each of the four blocks is read; at 128 all 71 blocks with the first one, in three."""
    queue = {"max_sectors_kb": "1280"}
    by_size, by_requests = (
        best_settings([start], [0, 4], settings_of(start, [INODES]))
        for start in (started(device=one, queue=queue) for one in (SIZES, REQUESTS))
    )
    assert by_size.genes == {INODES: 0}
    assert by_requests.genes == {INODES: 128}
    for found in (by_size, by_requests):
        assert found.seconds < found.alone_seconds
        assert found.by_window[found.read_ahead_kb] == found.seconds
        assert [*found.by_window] == [0, 16]


def test_nothing_is_chosen_that_saves_less_than_a_percent():
    start = started(device=FixedCost(0, 0))
    found = best_settings([start], [0, 4], settings_of(start))
    assert (found.genes, found.seconds) == ({}, found.alone_seconds)
    assert found.read_ahead_kb == found.alone_kb == 0


def test_the_seconds_of_a_value_are_those_of_the_replay_with_it():
    """Which are those of the recorded run, too."""
    start = started()
    off, _ = Setting(INODES, 0).applied(start)
    expected = off.timed([0])[0].total_ns / 1e9
    assert seconds_with([start], [Setting(INODES, 0)], [0]).tolist() == [expected]
    assert expected < start.timed([0])[0].total_ns / 1e9
    assert start.as_recorded().timed([0])[0].total_ns / 1e9 == expected


def test_largest_requests_are_offered_up_to_what_the_disk_takes():
    queue = {"max_sectors_kb": "128", "max_hw_sectors_kb": "512"}
    start = started(queue=queue)
    assert values(start, LARGEST) == [16, 32, 64, 256, 512]
    assert values(started(queue={"max_sectors_kb": "128"}), LARGEST) == []
    changed, _ = Setting(LARGEST, 16).applied(start)
    assert (changed.run.limits.max_sectors_kb, changed.run.machine.io_pages) == (16, 4)


def test_queues_are_offered_where_a_scheduler_has_one():
    deadline = {"scheduler": "none [mq-deadline]", "nr_requests": "8"}
    start = started(queue=deadline)
    assert values(start, QUEUE) == [4, 16, 32]
    assert values(started(queue={**deadline, "scheduler": "[none] mq-deadline"}), QUEUE) == []
    limited = Paced(requests_per_second=1000)  # it holds the reads before the queue
    assert values(started(device=limited, queue=deadline), QUEUE) == []
    assert Setting(QUEUE, 16).applied(start)[0].run.limits.nr_requests == 16


def test_a_prediction_names_a_gene_that_saves_more_than_the_best_window():
    note = next(
        one
        for one in predict_linux(started().recording, device=SIZES).notes
        if one.startswith("inode_readahead_blks=0 saves more than the best window: ")
    )
    assert note.endswith("foreread advise says what to type")
    others = predict_linux(started().recording, device=FixedCost(0, 0)).notes
    assert not any(INODES in one for one in others)


def test_settings_are_predicted_from_recordings_with_seconds():
    recording = started().recording
    prediction = predict_linux(recording, device=SIZES)
    found = predicted_settings([recording], prediction, SIZES)
    assert found.genes == {INODES: 0}
    assert found.seconds < found.alone_seconds <= prediction.total.seconds_at(32)
    assert predicted_settings([recording], prediction, SIZES, genes=()).genes == {}
    without = replace(prediction, total=structs.replace(prediction.total, seconds=None))
    assert predicted_settings([recording], without, SIZES) is None


def test_settings_reuse_the_start_that_the_prediction_prepared(monkeypatch):
    recording, calls = started().recording, []

    def counted(*arguments):
        calls.append(arguments)
        return prepare(*arguments)

    for module in (predicted_seconds, prepared_start):
        monkeypatch.setattr(module, "prepare", counted)
    prediction = predict_linux(recording, device=SIZES)
    assert predicted_settings([recording], prediction, SIZES) is not None
    assert len(calls) == 1
    assert predicted_settings([started().recording], prediction, SIZES) is not None
    assert len(calls) == 2  # another recording


@pytest.mark.parametrize(
    ("mount", "why"),
    [
        (mounted(), None),
        (mounted(None), "recorded with readahead in inode tables"),
        (mounted(()), "read no inode from the disk"),
        (mounted(None, fstype="xfs"), None),
    ],
)
def test_why_no_value_is_predicted(mount, why):
    found = unpredicted(started(mount))
    assert found is None if why is None else why in found
