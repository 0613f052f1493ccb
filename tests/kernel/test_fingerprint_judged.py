"""Plans judged on a disk of known cost: bad ones, good ones, and one that the workload outgrows."""

from __future__ import annotations

import os

import pytest
from shells import BUSYBOX
from slow_disks import slow_disk
from waiting import wait_until
from watched_disks import applying, plans, until

from foreread.tracer.remote.watch import parse_verdict, watching

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.thorough,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no workload was watched"),
]

# What is compared differs by more than a factor of two, on a busy machine too.
WINDOW_KB = 32  # found: a third of the throughput of the disk when all of it is read
REQUESTS, SIZE = 200, 20_000_000  # a second


@pytest.fixture
def slow(tmp_path):
    with slow_disk(tmp_path, WINDOW_KB, REQUESTS, SIZE) as disk:
        yield disk


def judging(slow, kb, recheck):
    settings = plans(slow.disk, read_sequential_large=kb, read_sequential_small=kb)
    return applying(slow.disk, settings, patience=2, worse_percent=20, recheck=recheck)


def verdicts(said):
    return [parse_verdict(fact) for fact in said if fact.key in ("undone", "kept")]


def test_a_bad_plan_is_undone_with_the_figures_of_both(slow):
    """Requests of 4 KiB: an eighth of the throughput at the original window."""
    with watching(slow.target, judging(slow, 4, 60), BUSYBOX) as watch:
        said = until(watch, "undone")
        wait_until(lambda: slow.disk.window_kb() == WINDOW_KB)
    (verdict,) = verdicts(said)
    before, after = verdict.throughput
    assert verdict.why == "throughput"
    assert after < 0.8 * before
    assert all(ms > 0 for ms in verdict.latency_ms)


def test_a_good_plan_stays_until_the_workload_outgrows_it(slow):
    """A large window trebles what is read; later it reads much that nobody wants."""
    with watching(slow.target, judging(slow, 1024, 4), BUSYBOX) as watch:
        said = until(watch, "kept")
        wait_until(lambda: slow.disk.window_kb() == 1024)
        slow.mode.write_text("pieces")
        later = until(watch, "undone")
        wait_until(lambda: slow.disk.window_kb() == WINDOW_KB)
    kept, undone = verdicts(said)[-1], verdicts(later)[-1]
    assert kept.throughput[1] > kept.throughput[0]
    assert undone.throughput[1] < undone.throughput[0]
