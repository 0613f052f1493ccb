"""Learnt patterns in force while a real load is near to them, on a loop device."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from shells import BUSYBOX
from waiting import wait_until
from watched_disks import WINDOW_KB, a_disk, applying, load, until, whole_period

from foreread.analyzer.tuner.engines.patterns import Pattern, pattern_of, within_clearance
from foreread.boards.target import LocalTarget
from foreread.tracer.remote.job import Fact
from foreread.tracer.remote.watch import WatchOptions, watching

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no workload was watched"),
]
READS = Pattern(1, 100, 100, 4)
CLASS = "read-random-small"


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    with a_disk(tmp_path_factory.mktemp("patterns")) as disk:
        yield disk


@pytest.mark.thorough
def test_the_nearest_pattern_within_the_clearance_is_in_force(loop):
    """Reads alone at random are near to the first pattern, in the same class as the second."""
    near, far = f"{CLASS}_1", f"{CLASS}_2"
    settings = {near: [(str(loop.knob), "16")], far: [(str(loop.knob), "32")]}
    patterns = {near: (1, 97, 100, 8), far: (1, 80, 100, 4)}
    options = replace(applying(loop, settings, patience=2), patterns=patterns)
    with watching(LocalTarget(), options, BUSYBOX) as watch, load(loop, "randread", "4k"):
        assert Fact("applied", near) in until(watch, "applied")
        wait_until(lambda: loop.window_kb() == 16)
        period = whole_period(watch)
    assert within_clearance(pattern_of({**period.sums, **period.own}), READS)
    wait_until(lambda: loop.window_kb() == WINDOW_KB)


@pytest.mark.thorough
def test_a_period_without_processes_wanted_has_none(loop):
    options = WatchOptions(period_s=1, disks=[loop.name], least_ios=5)
    with watching(LocalTarget(), options, BUSYBOX) as watch, load(loop, "randread", "4k"):
        assert not whole_period(watch).own
