"""Starts from files in compressed clusters are not predicted by window, and the verdict says so."""

from __future__ import annotations

import pytest
from capture_builder import capture_of
from event_table import DISK, R, insert, read, table

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import Rwbs
from foreread.analyzer.predict.clusters import in_clusters
from foreread.analyzer.predict.linux import predict_linux
from foreread.tracer.formats.capture import Mount

CLUSTERS = (*(insert(5, at) for at in range(40)), read(100, 10))
AHEAD = (*(insert(5, at) for at in range(40)), read(100, 40, flags=R | int(Rwbs.AHEAD)))
PLAIN = tuple(event for at in range(40) for event in (insert(5, at), read(100 + 8 * at, 1)))


def recorded(events, fstype):
    mount = Mount(dev=f"{DISK >> 20}:0", mountpoint="/", fstype=fstype, source="", options="")
    return interpret(Trace("test", table(*events)), capture_of(mounts=[mount]), [], "all")


@pytest.mark.parametrize("fstype", ["btrfs", "erofs", "f2fs"])
def test_several_pages_a_read_with_readahead_off_are_clusters(fstype):
    assert in_clusters(recorded(CLUSTERS, fstype)) == [fstype]


@pytest.mark.parametrize("fstype", ["btrfs", "erofs", "f2fs"])
@pytest.mark.parametrize("events", [PLAIN, AHEAD])
def test_single_pages_and_explicit_readahead_are_not(events, fstype):
    assert in_clusters(recorded(events, fstype)) == []


def test_the_blocks_of_squashfs_are_emulated():
    assert in_clusters(recorded(CLUSTERS, "squashfs")) == []


def test_the_verdict_says_why_and_points_to_a_sweep_and_to_the_list():
    found = predict_linux(recorded(CLUSTERS, "erofs"))
    assert found.verdict.action == "measure"
    assert "compressed clusters of erofs are read whole" in found.verdict.why
    assert found.verdict.remedy == "foreread sweep -o sweep.json -- app"
    assert any("foreread prefetch CAPTURE -o start.list" in note for note in found.notes)
    assert found.total.seconds is None
