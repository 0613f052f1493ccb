"""Reads that need not be: of paths that are not there, and of pages that had been read before."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from capture_builder import ROOT_PID, capture_of
from event_table import R, event, insert, metadata_insert, read, switch, table, wake
from recorded_threads import DEVICE, ENTRY, IDLE, LINUX, ended, missed

from foreread.analyzer.advise.again import read_again, with_second_reads
from foreread.analyzer.advise.metadata import (
    metadata_steps,
    missing_paths,
    steps_within,
    without_reads,
)
from foreread.analyzer.advise.situation import AdviceError, situation_of
from foreread.analyzer.advise.variant import variant_of
from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import Kind
from foreread.analyzer.predict.inputs import inputs
from foreread.analyzer.predict.start import prepare

A = ROOT_PID
META = 1 << 3


def started(*events, calls=None):
    """Return a start of events in order of time, and the times of its operations."""
    rows = sorted(events, key=lambda row: row[0])
    calls = calls or {}

    def fields(name, names):
        columns = zip(*calls[name], strict=True)
        found = dict(zip(("time_ns", "pid", "ret"), columns, strict=False))
        found = {**dict.fromkeys(names, (0,) * len(calls[name])), **found}
        return {key: np.array(found[key], np.int64) for key in ("time_ns", "pid", *names)}

    trace = Trace(
        "test",
        table(*rows),
        kernel="6.18.0",
        event_names=frozenset(calls),
        read_fields=fields if calls else None,
    )
    recording = interpret(trace, capture_of(end_ns=rows[-1][0]), [ENTRY], "tree")
    taken = inputs(recording, LINUX)
    return variant_of(prepare(taken, LINUX, DEVICE), 0), taken.times


def looked_up(at, sector, thread=A):
    """A read of metadata at ``at`` that the thread waits for."""
    flags = R | META
    return [
        metadata_insert(sector // 8, pid=thread, time_ns=at),
        read(sector, 1, pid=thread, time_ns=at + 50, flags=flags),
        event(Kind.RQ_ISSUE, pid=thread, index=sector, value=8, flags=flags, time_ns=at + 60),
        switch(at + 100, thread, IDLE, 2),
        event(Kind.RQ_COMPLETE, pid=IDLE, index=sector, value=8, flags=flags, time_ns=at + 900),
        wake(at + 910, IDLE, thread, 16),
        switch(at + 950, IDLE, thread),
    ]


def opens(*spans):
    """The calls of openat: (begin, end, result)."""
    return {
        "syscalls:sys_enter_openat": [(begin, A, 0) for begin, _, _ in spans],
        "syscalls:sys_exit_openat": [(end, A, ret) for _, end, ret in spans],
    }


def searching(*spans):
    events = [
        switch(1000, IDLE, A),
        *looked_up(2000, 80000),
        *looked_up(5000, 90000),
        *missed(8000, 0),
        *ended(12000, A),
    ]
    return started(*events, calls=opens(*spans))[0]


def test_opens_that_found_nothing_are_counted_with_the_metadata_they_read():
    variant = searching((1900, 3000, -2), (4900, 6000, 3))
    missing = missing_paths(variant.start.recording)
    assert dict(missing.calls) == {"openat": 1}
    assert missing.spans.tolist() == [[A, 1900, 3000]]
    assert len(metadata_steps(variant)) == 2
    steps = steps_within(variant, missing.spans)
    assert variant.run.steps["sector"][steps].tolist() == [80000]


def test_without_the_reads_the_start_is_shorter_by_them():
    variant = searching((1900, 3000, -2), (4900, 6000, 3))
    spans = missing_paths(variant.start.recording).spans
    changed = without_reads(variant, steps_within(variant, spans))
    assert variant.cost().seconds - changed.cost().seconds == pytest.approx(1000e-9)
    none = without_reads(variant, metadata_steps(variant))
    assert variant.cost().seconds - none.cost().seconds == pytest.approx(2000e-9)


@pytest.mark.parametrize("result", [-13, -17, 0, 5])
def test_other_results_are_not_missing_paths(result):
    assert missing_paths(searching((1900, 3000, result)).start.recording).number == 0


def test_calls_that_the_capture_lacks_are_named():
    missing = missing_paths(searching((1900, 3000, -2)).start.recording)
    assert missing.seen == ("openat",)
    assert {"statx", "newfstatat", "access", "readlink"} <= set(missing.unseen)


def test_an_end_without_a_beginning_is_ignored():
    calls = {
        "syscalls:sys_enter_openat": [(9000, A, 0)],
        "syscalls:sys_exit_openat": [(500, A, -2)],
    }
    variant, _ = started(switch(400, IDLE, A), *missed(1000, 0), *ended(5000, A), calls=calls)
    assert missing_paths(variant.start.recording).number == 0


def test_pages_that_are_read_twice_cost_the_second_read():
    events = [
        switch(1000, IDLE, A),
        *missed(2000, 0),
        *missed(5000, 1),
        event(Kind.DELETE, ino=1, index=0, time_ns=7000),
        insert(1, 0, pid=A, time_ns=8100),
        read(0, 1, pid=A, time_ns=8150),
        event(Kind.RQ_ISSUE, pid=A, index=0, value=8, flags=R, time_ns=8200),
        event(Kind.RQ_COMPLETE, pid=A, index=0, value=8, flags=R, time_ns=8900),
        *missed(10000, 2),
        *ended(13000, A),
    ]
    variant, times = started(*events)
    recording = variant.start.recording
    again = read_again(recording)
    assert again.files == {0: 1}
    assert again.reads[["pid", "page"]].tolist() == [(A, 0)]
    twice = with_second_reads(variant, times, again)
    assert twice.cost().seconds - variant.cost().seconds == pytest.approx(1000e-9)
    assert len(metadata_steps(twice)) == len(metadata_steps(variant)) == 0
    assert not len(read_again(started(*events[:17], *ended(13000, A))[0].start.recording).reads)


def test_a_start_without_seconds_that_reads_pages_twice_is_refused_with_these_pages():
    events = [switch(1000, IDLE, A), *missed(2000, 0), *missed(5000, 0), *ended(9000, A)]
    recording = started(*events)[0].start.recording
    verdict = SimpleNamespace(why="6 % of the time is unexplained", remedy="record again")
    without = SimpleNamespace(total=SimpleNamespace(seconds=None), verdict=verdict)
    with pytest.raises(AdviceError, match=r"1 page of .* a second time: find what drops") as error:
        situation_of([recording], prediction=without)
    assert error.value.remedy == "record again"
