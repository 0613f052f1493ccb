"""A start that was recorded in hardly any memory, which shows which pages are used again."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest

from foreread.analyzer.ingest.load import load
from foreread.analyzer.ingest.reclaimed import shows_later_uses
from foreread.analyzer.load.named import predict_beside
from foreread.analyzer.predict.inputs import inputs
from foreread.analyzer.predict.linux import predict_linux
from foreread.analyzer.predict.memory import (
    lacking_kib,
    pages_of,
    recorded_run,
    tight_kib,
    with_memory,
)
from foreread.analyzer.predict.start import prepare
from foreread.emulator.linux.rules import version_of
from foreread.tracer.formats.sweep import read_sweep

DATA = Path(__file__).parent / "data"
WINDOWS_KB = (8, 32, 128, 256, 1024)


def recorded(name):
    return load(DATA / f"{name}.capture.tar.xz")


def start_of(recording):
    version = version_of(recording.kernel)
    return prepare(inputs(recording, version), version)


@pytest.fixture(scope="module")
def spare():
    return predict_linux(recorded("spare"))


@pytest.fixture(scope="module")
def tight():
    return predict_linux(recorded("tight"))


def errors(start, size):
    """Return the relative errors of pages and of seconds against cold runs, by window."""
    idle, swept = (
        {point.read_ahead_kb: point for point in read_sweep(DATA / f"{name}.sweep.json").points}
        for name in ("idle", size)
    )
    memory = with_memory(start, int(size.removesuffix("M")) << 10)
    windows = [kb // 4 for kb in WINDOWS_KB]
    pages, seconds = [], []
    for kb, run, unlimited in zip(
        WINDOWS_KB, memory.timed(windows), start.timed(windows), strict=True
    ):
        metadata = median(idle[kb].pages) - pages_of(unlimited)
        pages.append(pages_of(run) / (median(swept[kb].pages) - metadata) - 1)
        seconds.append(run.total_ns / 1e9 / median(swept[kb].seconds) - 1)
    return pages, seconds


@pytest.mark.parametrize(
    ("size", "of_pages", "of_seconds"), [("24M", 0.1, 0.05), ("20M", 0.08, 0.16)]
)
def test_pages_and_seconds_in_little_memory_are_met(size, of_pages, of_seconds):
    pages, seconds = errors(start_of(recorded("tight")), size)
    assert max(map(abs, pages)) < of_pages
    assert max(map(abs, seconds)) < of_seconds


def test_a_recording_with_memory_to_spare_is_a_lower_bound():
    pages, _ = errors(start_of(recorded("spare")), "20M")
    assert max(pages) < 0
    assert min(pages) < -0.4


def test_most_pages_were_reclaimed_in_the_one_recording_and_none_in_the_other(spare, tight):
    shown = [shows_later_uses(each.starts[0].recording) for each in (spare, tight)]
    assert shown == [False, True]
    assert [each.starts[0].run.machine.code_stays for each in (spare, tight)] == [True, False]


def test_a_prediction_says_how_to_record_what_is_used_again(spare):
    assert tight_kib(spare.starts[0]) == 16 << 10
    need = predict_beside(spare, ["memory:20M"]).loads.need
    words = need.record.split()
    assert words[:2] == ["foreread", "record"]
    assert words[words.index("--memory") + 1] == "16M"
    assert predict_beside(spare, ["memory:64M"]).loads.need.record is None


def test_it_does_not_where_the_capture_shows_that(tight):
    assert predict_beside(tight, ["memory:20M"]).loads.need.record is None


def test_the_recorded_run_is_checked_in_the_memory_that_it_had(tight):
    """Its pages were read again: with memory to spare its replay takes a tenth less."""
    assert tight.verdict.by == "seconds"
    assert not any("MiB are available" in doubt for doubt in tight.doubts)
    assert lacking_kib(tight.starts, tight.bands) is None


def test_time_of_requests_that_the_replay_does_not_send_is_not_unexplained(tight):
    """44 of 3,055 are missing: of pages that the kernel reclaimed, and the emulation keeps."""
    (start,) = tight.starts
    replayed_s = recorded_run(start, start.timed([0])[0]).total_ns / 1e9
    (doubt,) = (each for each in tight.doubts if "unexplained" in each)
    said_s = float(doubt.split(" takes ")[1].split(" s,")[0])
    assert 44 * 0.001 < said_s - replayed_s < 44 * 0.002  # the disk makes 1,000 requests a second
