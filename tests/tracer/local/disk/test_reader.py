"""The probe's parts: where it reads, that each request is whole, which cgroup it joins."""

from __future__ import annotations

import os
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreread.boards.mounts import MountPoint
from foreread.tracer.local.disk import pages
from foreread.tracer.local.disk.pages import SIZES, read_pages
from foreread.tracer.local.disk.reader import DirectReader, Pattern
from foreread.tracer.local.disk.spans import Places, Span, spans_of_disk
from foreread.tracer.local.groups import group_folder, group_of

MIB = 1 << 20


@given(
    st.lists(st.tuples(st.integers(0, 1 << 24), st.integers(1, 5000)), min_size=1, max_size=30),
    st.integers(1 << 22, 1 << 33),
    st.sampled_from([4096, 65536, MIB]),
    st.integers(0, 999),
)
def test_every_place_lies_on_the_disk_near_a_recorded_read(reads, size, length, seed):
    spans = spans_of_disk(3, reads, size)
    places = Places(spans, random.Random(seed))
    assert all(left.end < right.start for left, right in pairwise(spans))
    if not places.fits(length):
        return
    first = places.first(length)
    found = [places.random(length), *(places.following(first + row, length) for row in range(9))]
    for descriptor, at in found:
        assert descriptor == 3
        assert at % 4096 == 0
        assert any(span.start <= at and at + length <= span.end for span in spans)
        assert at + length <= size


def test_a_stream_is_sequential():
    places = Places([Span(0, 0, 8 * MIB)], random.Random(1))
    stream = [places.following(row, 65536)[1] for row in range(5)]
    assert stream == [0, 65536, 131072, 196608, 262144]


@pytest.mark.parametrize("depth", [1, 4])
def test_requests_are_timed_one_by_one(tmp_path, depth):
    path = tmp_path / "file"
    path.write_bytes(bytes(MIB))
    descriptor = os.open(path, os.O_RDONLY)
    try:
        reader = DirectReader(Places([Span(descriptor, 0, MIB)], random.Random(1)))
        trial = reader.run(Pattern(16, False, depth), 0.01)
        assert reader.run(Pattern(2048, False, 1), 0.01) is None
    finally:
        os.close(descriptor)
    assert trial.request_bytes == 16384
    assert len(trial.complete_ns) >= depth
    assert trial.complete_ns == sorted(trial.complete_ns)
    assert all(at % 4096 == 0 for at in trial.offset)


def test_a_read_beyond_the_end_is_an_error(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(4096))
    descriptor = os.open(path, os.O_RDONLY)
    try:
        reader = DirectReader(Places([Span(descriptor, MIB, 2 * MIB)], random.Random(1)))
        with pytest.raises(OSError, match="end"):
            reader.run(Pattern(4, False, 2), 0.01)
    finally:
        os.close(descriptor)


def process(folder, cgroup, state="S", flags=0x400000):
    (folder / "7").mkdir()
    (folder / "7/cgroup").write_text(cgroup)
    (folder / "7/stat").write_text(f"7 (a) b) {state} 1 7 7 0 -1 {flags} 99")
    return folder


def test_the_cgroup_of_version_1_comes_first(tmp_path):
    place = process(tmp_path, "8:pids:/p\n7:blkio:/slow\n0::/unified\n")
    assert group_of(7, "blkio", place) == "/slow"


def test_the_cgroup_of_version_2(tmp_path):
    assert group_of(7, "blkio", process(tmp_path, "0::/system.slice/a:b.scope\n")) == (
        "/system.slice/a:b.scope"
    )


def test_a_dead_process_has_no_cgroup(tmp_path):
    assert group_of(7, "blkio", process(tmp_path, "7:blkio:/\n", state="Z", flags=0x40040C)) is None
    assert group_of(8, "blkio", tmp_path) is None


def test_an_exiting_process_has_no_cgroup_though_it_still_runs(tmp_path):
    """It unmaps its memory: a start of ffmpeg had its disk probed without its limiter."""
    assert group_of(7, "blkio", process(tmp_path, "7:blkio:/\n", state="R", flags=0x40040C)) is None


def test_the_folder_of_a_cgroup():
    def mount(kind, at, options=""):
        return MountPoint("0:1", "/", at, "rw", kind, "cgroup", options)

    v2 = mount("cgroup2", "/sys/fs/cgroup/unified")
    v1 = mount("cgroup", "/sys/fs/cgroup/blkio", "rw,blkio")
    assert str(group_folder("/slow", "blkio", [v2, v1])) == "/sys/fs/cgroup/blkio/slow"
    assert str(group_folder("/slow", "blkio", [v2])) == "/sys/fs/cgroup/unified/slow"
    assert group_folder("/slow", "blkio", []) is None


def test_pages_are_read_past_the_cache_and_into_it(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "_LONGEST_NS", 10**15)
    path = tmp_path / "file"
    path.write_bytes(bytes(MIB))
    descriptor = os.open(path, os.O_RDONLY)
    try:
        found = read_pages(Places([Span(descriptor, 0, MIB)], random.Random(1)))
        assert read_pages(Places([Span(descriptor, 0, SIZES[0])], random.Random(1))) == []
        monkeypatch.setattr(pages, "_LONGEST_NS", -1)  # as if the disk were slow
        assert read_pages(Places([Span(descriptor, 0, MIB)], random.Random(1))) == []
    finally:
        os.close(descriptor)
    assert [reads.request_bytes for reads in found] == list(SIZES)
    assert all(len(reads.direct_ns) == len(reads.cached_ns) == pages._ROUNDS for reads in found)
