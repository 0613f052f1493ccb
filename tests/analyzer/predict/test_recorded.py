"""Doubts about a recording: lost events, other readers, a replay that does not fit."""

from dataclasses import replace
from math import sqrt

import pytest
from capture_builder import ROOT_PID, capture_of
from event_table import insert, read, table
from msgspec import structs

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Recording, Trace
from foreread.analyzer.predict.basis import MOST_LOST, Answer, lacking
from foreread.analyzer.predict.doubts.doubt import Doubt
from foreread.analyzer.predict.doubts.recording import of_recording
from foreread.analyzer.predict.doubts.start import MOST_UNEXPLAINED, of_replay
from foreread.analyzer.program.frame import frame_of
from foreread.tracer.formats.capture import NO_METADATA

PAGES = 40
OTHER_DISK = (8 << 20) | 1


def pages(number: int, pid: int = ROOT_PID, ino: int = 5, **more: int) -> list[tuple[int, ...]]:
    return [
        one
        for page in range(number)
        for one in (insert(ino, page, pid=pid, **more), read(8 * page, 1, pid=pid, **more))
    ]


def recorded(*events: tuple[int, ...], **changes: object) -> Recording:
    trace = Trace(format="test", events=table(*pages(PAGES), *events), page_size=4096)
    return interpret(trace, capture_of(**changes), [], "tree")


def only(recording: Recording) -> Doubt:
    (found,) = of_recording(recording)
    return found


def test_an_undisturbed_recording_has_no_doubt() -> None:
    assert list(of_recording(recorded())) == []


def test_lost_events_widen_the_band_by_their_share_until_too_many_are_lost() -> None:
    events = 2 * PAGES
    found = only(recorded(lost={"0": 1}))
    assert found == Doubt(
        "at least 1 event was lost (0.012 of all): pages and requests are missing", 1 / (events + 1)
    )
    few, many = recorded(lost={"0": 4}), recorded(lost={"0": 3, "1": 2})  # of 84, and of 85
    assert MOST_LOST == 0.05
    assert not any("lost" in why for why in lacking(few, Answer.SECONDS))
    assert any("5 events were lost" in why for why in lacking(many, Answer.SECONDS))


def test_other_readers_of_the_same_disk_are_a_doubt() -> None:
    """As many pages again: half of all, somewhere between no delay and all of theirs."""
    found = only(recorded(*pages(PAGES, pid=999, ino=6)))
    assert found.text.startswith("other processes read 40 pages from the same disk")
    assert found.spread == pytest.approx(0.5 / sqrt(12))
    assert not found.unusable


def test_few_pages_of_others_and_other_disks_are_ignored() -> None:
    assert list(of_recording(recorded(*pages(1, pid=999, ino=6)))) == []
    assert list(of_recording(recorded(*pages(PAGES, pid=999, ino=6, dev=OTHER_DISK)))) == []


@pytest.mark.parametrize(
    ("replayed_s", "spread", "unusable"),
    [(10.0, None, False), (10.09, None, False), (10.3, 0.03, False), (12.0, 0.2, True)],
)
def test_a_replay_that_takes_longer_than_the_run(
    replayed_s: float, spread: float | None, unusable: bool
) -> None:
    found = list(of_replay(recorded(start_ns=0, end_ns=10**10), replayed_s))
    assert [round(one.spread, 6) for one in found] == ([] if spread is None else [spread])
    assert [one.unusable for one in found] == ([] if spread is None else [unusable])


def test_a_replay_may_be_shorter_by_the_cost_of_recording() -> None:
    """80 events, 1 µs apart at the closest: 80 µs of 10 ms are 0.8 %."""
    recording = recorded(start_ns=0, end_ns=10**7)
    assert list(of_replay(recording, 0.00985)) == []
    (found,) = of_replay(recording, 0.0096)
    assert found.spread == pytest.approx(0.032, abs=1e-4)
    assert MOST_UNEXPLAINED == 0.05
    assert next(iter(of_replay(recording, 0.009))).unusable


def test_a_trace_of_another_tool_took_from_its_first_page_to_its_last() -> None:
    foreign = replace(recorded(start_ns=0, end_ns=10**7), capture=NO_METADATA)
    frame = frame_of(foreign)
    took_s = (frame.end_ns - frame.start_ns) / 1e9
    assert 0 < took_s < 0.001
    assert list(of_replay(foreign, took_s)) == []
    assert next(iter(of_replay(foreign, 2 * took_s))).unusable


def test_readahead_during_the_recording_is_a_doubt() -> None:
    stayed = structs.replace(capture_of().devices[0], read_ahead_kb=128)
    assert "readahead was on" in only(recorded(devices=[stayed])).text
