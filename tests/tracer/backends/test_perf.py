"""perf's own words, as perf 6.1 and older print them, and the command line it is given."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreread.tracer.backends import perf

# perf 6.1 on Linux 6.18: one page of buffer, dd with 400,000 reads of one byte.
STATS = """
Aggregated stats:
           TOTAL events:     458384
            LOST events:         22  ( 0.0%)
          SAMPLE events:     387875  (84.6%)
    LOST_SAMPLES events:          1  ( 0.0%)
syscalls:sys_enter_read stats:
          SAMPLE events:     387810
    LOST_SAMPLES events:      12247
filemap:mm_filemap_add_to_page_cache stats:
          SAMPLE events:         41
"""
LOST = """
              dd 13670 [001]  1697.567996: PERF_RECORD_LOST lost 8
              dd 13670 [001]  1697.567997: syscalls:sys_enter_read:
         swapper     0 [000]  1697.624626: PERF_RECORD_LOST lost 2494
              dd 13670 [001]  1697.680932: PERF_RECORD_LOST lost 69
"""


def test_stats_are_counted_by_event() -> None:
    stats = perf.parse_stats(STATS)
    assert stats.samples == {
        "syscalls:sys_enter_read": 387810,
        "filemap:mm_filemap_add_to_page_cache": 41,
    }
    assert (stats.lost_samples, stats.lost_records) == (12247, 22)


def test_losses_are_placed_on_their_cpus() -> None:
    assert perf.parse_lost(LOST) == {0: 2494, 1: 77}


def test_a_recording_without_loss_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perf, "output_of", lambda _: pytest.fail("decoded"))
    assert perf.count_lost(Path("perf.data"), perf.Stats(samples={"a:b": 3})) == {}


def test_losses_that_perf_does_not_place_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perf, "output_of", lambda _: LOST)
    lost = perf.count_lost(Path("perf.data"), perf.parse_stats(STATS))
    assert lost == {0: 2494, 1: 77, -1: 12247 - 2494 - 77}


@given(st.integers(1, 1 << 24))
def test_the_buffer_is_the_next_power_of_two(buffer_kib: int) -> None:
    pages = perf.buffer_pages(buffer_kib)
    page_kib = perf.os.sysconf("SC_PAGE_SIZE") // 1024
    assert pages & (pages - 1) == 0
    assert buffer_kib // page_kib <= pages <= max(1, 2 * buffer_kib // page_kib)


@pytest.mark.parametrize(
    ("issued", "completed", "missing"),
    [(0, 0, False), (1000, 1000, False), (1000, 950, False), (21453, 169, True)],
)
def test_missing_completions_are_reported(issued: int, completed: int, missing: bool) -> None:
    samples = {"block:block_rq_issue": issued, "block:block_rq_complete": completed}
    notes = perf.missing_completions(samples)
    assert bool(notes) == missing
    assert all(str(issued - completed) in note for note in notes)


def test_every_event_is_passed_and_the_output_comes_before_the_workload(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(perf, "help_of", lambda *_: "")
    command = perf.record_command(["a:b", "c:d"], 64, Path("out"))
    assert [command[i + 1] for i, word in enumerate(command) if word == "--event"] == ["a:b", "c:d"]
    assert command[-3:] == ["--output", "out", "--"]
    assert "--no-bpf-event" not in command
