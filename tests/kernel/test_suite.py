"""A suite of two starts on this machine: recorded, interrupted by an error, and measured."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from loop_image import WINDOW_KB, loop_image
from waiting import left_s

import foreread
from foreread.analyzer.confirm.text import stored
from foreread.analyzer.ingest.load import load
from foreread.analyzer.suite.read import SuiteError
from foreread.recording import suite as suite_recording
from foreread.tracer.error import RecordError
from foreread.tracer.runs.options import Streams

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no suite was recorded"),
]


@pytest.fixture
def loop(tmp_path):
    with loop_image(tmp_path) as image:
        yield image


@pytest.fixture
def nowhere():
    with open(os.devnull, "wb") as file:  # noqa: PTH123
        yield Streams(stdout=file.fileno(), stderr=file.fileno())


@pytest.fixture(autouse=True)
def beside_others(monkeypatch):
    """Record while other programs keep pages in the cache, as ``record --allow-warm`` does."""

    run_of = suite_recording.run_of
    allowed = lambda *start: replace(run_of(*start), allow_warm=True)  # noqa: E731
    monkeypatch.setattr(suite_recording, "run_of", allowed)


def suite(loop, folder, second="busybox"):
    """Write a suite: one start reads the file of data, the other one pages of it."""
    path = folder / "suite.toml"
    path.write_text(
        f"""schema = 1
[[start]]
name = "whole"
command = ["{loop.busybox}", "cat", "{loop.data}"]
[[start]]
name = "pages"
weight = 3
command = ["{loop.mountpoint}/{second}", "dd", "if={loop.data}", "skip=320"]
"""
    )
    return path


@pytest.mark.thorough
def test_what_is_missing_is_recorded_and_an_error_leaves_what_is_complete(loop, tmp_path, nowhere):
    wrong = suite(loop, tmp_path, second="no-such-program")
    with pytest.raises(RecordError, match="no-such-program"):
        foreread.record_suite(wrong, streams=nowhere, probe_disk=False, wait_s=left_s())
    whole, pages = (tmp_path / f"captures/local/{name}-1" for name in ("whole", "pages"))
    assert load(whole).capture.command[1] == "cat"
    assert not pages.exists()
    before = (whole / "capture.json").stat().st_mtime_ns
    right = suite(loop, tmp_path)
    made = foreread.record_suite(right, streams=nowhere, probe_disk=False, wait_s=left_s())
    assert [path for path, _ in made.recorded] == [pages]
    assert made.present == (whole,)
    assert (whole / "capture.json").stat().st_mtime_ns == before
    assert str(loop.data) in load(pages).paths
    assert loop.restored_kb() == WINDOW_KB
    again = foreread.record_suite(right, streams=nowhere, probe_disk=False, wait_s=left_s())
    assert again.recorded == ()


def test_every_start_is_measured_at_both_windows_and_keeps_its_result(loop, tmp_path, nowhere):
    path = suite(loop, tmp_path)
    foreread.record_suite(path, streams=nowhere, probe_disk=False, wait_s=left_s())
    found = foreread.confirm_suite(
        path, foreread.ConfirmOptions(read_ahead_kb=4, runs=8, seed=3, wait_s=left_s())
    )
    (proof,) = found.boards
    starts = proof.starts
    assert [(one.name, one.weight, one.measured) for one in starts] == [
        ("whole", 1.0, True),
        ("pages", 3.0, True),
    ]
    for one in starts:
        (kept,) = stored(load(one.capture).capture)
        assert (kept.present_kb, kept.proposed_kb) == (WINDOW_KB, 4)
        assert len(kept.pairs) >= 2
    assert proof.seconds_now == pytest.approx(sum(one.weight * one.seconds_now for one in starts))
    assert proof.seconds == pytest.approx(sum(one.weight * one.seconds for one in starts))
    assert loop.restored_kb() == WINDOW_KB


@pytest.mark.thorough
def test_a_suite_beside_a_load_is_measured_apart_from_the_idle_one(loop, tmp_path, nowhere):
    path = suite(loop, tmp_path)
    foreread.record_suite(path, streams=nowhere, probe_disk=False, wait_s=left_s())
    for scenario in ("idle", "reader"):
        found = foreread.confirm_suite(
            path,
            foreread.ConfirmOptions(
                read_ahead_kb=4, runs=4, seed=3, scenario=scenario, wait_s=left_s()
            ),
        )
        (proof,) = found.boards
        assert [one.result.scenario for one in proof.starts] == [scenario] * 2
        assert all(one.measured for one in proof.starts)
    for one in proof.starts:
        assert {kept.scenario for kept in stored(load(one.capture).capture)} == {"idle", "reader"}
    assert loop.restored_kb() == WINDOW_KB


@pytest.mark.thorough
def test_a_suite_whose_starts_were_not_recorded_is_not_measured(loop, tmp_path):
    with pytest.raises(SuiteError, match="not recorded") as refused:
        foreread.confirm_suite(suite(loop, tmp_path), foreread.ConfirmOptions(read_ahead_kb=4))
    assert "foreread record --suite" in refused.value.remedy
    assert loop.restored_kb() == WINDOW_KB
