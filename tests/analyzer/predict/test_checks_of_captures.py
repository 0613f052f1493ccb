"""Each check of a capture and of its replays, on a capture that has the fault."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from capture_builder import ROOT_PID, capture_of
from event_table import BLOCKS, DEAD, SLEEPS, SOFTIRQ, R, event, insert, read, switch, table, wake

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import Kind
from foreread.analyzer.predict.doubts.recording import of_recording
from foreread.analyzer.predict.doubts.start import by_window, disagreement, of_run, other_requests
from foreread.analyzer.predict.inputs import inputs
from foreread.analyzer.predict.start import prepare
from foreread.analyzer.program.added_steps import new_steps
from foreread.boards.cost import FixedCost as FixedFigures
from foreread.emulator.devices.device import FixedCost
from foreread.emulator.devices.stateful import Stateful
from foreread.emulator.linux.steps import Timed
from foreread.tracer.formats.capture import Extent, FileEntry
from foreread.tracer.formats.disk_probe import Computing, ComputingRound, DiskProbe

A, B, IDLE, STRANGER = ROOT_PID, 101, 0, 9
ENTRY = FileEntry(dev="7:0", ino=1, path="/a", size_bytes=64 * 4096)
LINUX = (6, 18, 0)
DEVICE = FixedCost(1000, 0)
FIGURES = FixedFigures(obtained="set", latency_us=1, ns_per_kib=10)
EMULATED = DiskProbe(dev="7:0", name="slow0", known=FIGURES)
EXITS = frozenset({"sched:sched_process_exit"})


def recording(*events, names=EXITS, entry=ENTRY, **capture):
    rows = sorted(events, key=lambda row: row[0])
    trace = Trace("test", table(*rows), kernel="6.18.0", event_names=names)
    more = {"end_ns": rows[-1][0], **capture}
    return interpret(trace, capture_of(**more), [entry], "tree")


def started(*events, device=DEVICE, **capture):
    return prepare(inputs(recording(*events, **capture), LINUX), LINUX, device)


def missed(at, page, thread=A, cpu=0):
    """A fault at ``at`` whose page is there 1300 later."""
    sector = page * 8
    issue = event(Kind.RQ_ISSUE, pid=thread, index=sector, value=8, flags=R, time_ns=at + 200)
    done = event(Kind.RQ_COMPLETE, pid=IDLE, index=sector, value=8, flags=R, time_ns=at + 1200)
    return [
        event(Kind.FAULT, pid=thread, ino=1, index=page, time_ns=at, cpu=cpu),
        insert(1, page, pid=thread, time_ns=at + 100, cpu=cpu),
        read(sector, 1, pid=thread, time_ns=at + 150, cpu=cpu),
        issue,
        switch(at + 500, thread, IDLE, BLOCKS, cpu=cpu),
        done,
        wake(at + 1210, IDLE, thread, SOFTIRQ, cpu=cpu),
        switch(at + 1300, IDLE, thread, cpu=cpu),
    ]


def ended(at, thread, cpu=0):
    return [
        event(Kind.EXIT, pid=thread, time_ns=at - 10, cpu=cpu),
        switch(at, thread, IDLE, DEAD, cpu=cpu),
    ]


def texts(found):
    return [one.text for one in found]


def test_a_sound_capture_is_not_doubted():
    start = started(switch(0, IDLE, A), *missed(1000, 0), *ended(5000, A))
    assert not [*of_recording(start.recording)]
    assert not [*of_run(start, 5e-6)]
    assert not [*other_requests(start, start.timed([0])[0])]
    assert not [*by_window(start, [0, 4], start.timed([0, 4]))]


def test_a_trace_that_ends_before_the_command_is_unusable():
    """The buffer was full at 2400: from then on the command would count as computing."""
    sound = [switch(0, IDLE, A), *missed(1000, 0), *ended(5000, A)]
    cut = [one for one in sound if one[0] <= 2400]
    (doubt,) = without_an_end(*cut, end_ns=5000)
    assert doubt.unusable
    assert not without_an_end(*sound)
    assert not without_an_end(*cut, end_ns=5000, names=frozenset())


def without_an_end(*events, **capture):
    doubts = of_run(started(*events, **capture), 5e-6)
    return [one for one in doubts if one.text.startswith("the trace does not hold the end of the")]


def late_child(fork_ns):
    """B, whose first stay begins at 3000, reads a page that A waits for in the end."""
    return [
        switch(0, IDLE, A),
        *missed(1000, 0),
        event(Kind.FORK, pid=A, value=B, time_ns=fork_ns),
        switch(3000, IDLE, B, cpu=1),
        switch(fork_ns + 50, A, IDLE, SLEEPS),
        *missed(4000, 9, B, cpu=1),
        wake(5900, B, A, cpu=1),
        *ended(6000, B, cpu=1),
        switch(6050, IDLE, A),
        *ended(7000, A),
    ]


def test_a_thread_of_unknown_beginning_is_unusable():
    """Its fork is recorded after its first stay, as it was with a switch placed too early."""
    found = [*of_run(started(*late_child(fork_ns=3500)), 7e-6)]
    assert any(one.unusable and "what started it" in one.text for one in found)
    found = [*of_run(started(*late_child(fork_ns=2800)), 7e-6)]
    assert not any("what started it" in one.text for one in found)


def of(total, compute, waited, requests=10):
    return Timed(
        total, compute, waited, 0.0, np.zeros(1), np.array([[requests, requests]]), np.zeros(1)
    )


def fake(**more):
    """A start whose requests are ten reads."""
    found = {
        "recording": SimpleNamespace(page_size=4096, probe=EMULATED),
        "disk": 7 << 20,
        "requests": {"flags": np.full(10, R)},
        "cpu_samples": object(),
        "without_strangers": lambda: None,
        "inode_tables": (),
        "run": SimpleNamespace(steps=new_steps(1)),
        "device": FixedCost(1000, 10),
    }
    return SimpleNamespace(**{**found, **more})


@pytest.mark.parametrize(
    ("grown", "spread", "unusable"), [(0.005, 0, False), (0.1, 0.1, False), (0.5, 0.5, True)]
)
def test_sleep_that_grows_with_the_window_widens_the_band(grown, spread, unusable):
    runs = [of(1e9, 2e8, 7e8), of(0.5e9, 2e8, 2e8 - grown * 0.5e9)]
    found = [*by_window(fake(), [0, 4], runs)]
    if not spread:
        assert not found
        return
    assert "all threads sleep increases from 0.10 s" in found[0].text
    assert "with a window of 16 KiB" in found[0].text
    assert found[0].spread == pytest.approx(spread / 1.645)
    assert found[0].unusable == unusable


def test_requests_that_the_replay_does_not_send():
    found = [*other_requests(fake(), of(1e9, 3e8, 7e8, requests=7))]
    assert texts(found) == ["10 requests were recorded, and the replay sends 7"]
    assert found[0].unusable


@pytest.mark.parametrize(("fast_kib", "refused"), [(0, False), (39, True), (100, False)])
def test_a_disk_that_is_fast_after_a_rest_only(fast_kib, refused):
    """Ten pages are 40 KiB; as much may have been read before."""
    disk = Stateful(1000, 10, fast_kib=fast_kib, slow_ns_per_kib=50)
    start = fake(device=disk)
    found = [*by_window(start, [0], [of(1e9, 3e8, 7e8)])]
    assert [one.unusable for one in found] == [True] * refused
    assert not refused or "39 KiB at full speed after a rest" in found[0].text


@pytest.mark.parametrize("extents", [None, [Extent(0, 4096, 64 * 4096, written=True)]])
def test_files_at_unknown_places_of_a_disk_that_seeks(extents):
    entry = msgspec.structs.replace(ENTRY, extents=extents)
    start = started(*missed(1000, 3), entry=entry, device=Stateful(1000, 10, seek_ns_per_root=50))
    places = [text for text in texts(of_run(start, 1.0)) if "the places of" in text]
    assert places == (
        []
        if extents
        else [
            "the disk seeks, and the places of 1 of 1 file are unknown: a seek to one counts as "
            "one over no distance"
        ]
    )


def test_reads_of_others_that_delay_the_start():
    """A read of 400 KiB that another process asked for comes at its recorded time."""
    sector = 40 * 8
    theirs = [
        insert(2, 5, pid=STRANGER, time_ns=800, cpu=1),
        event(Kind.RQ_ISSUE, pid=STRANGER, index=sector, value=800, flags=R, time_ns=900, cpu=1),
        event(Kind.RQ_COMPLETE, pid=IDLE, index=sector, value=800, flags=R, time_ns=2000, cpu=1),
    ]
    start = started(switch(0, IDLE, A), *theirs, *missed(1000, 0), *ended(5000, A))
    slow = replace(start, device=FixedCost(1000, 10))
    found = [*by_window(slow, [0], slow.timed([0]))]
    assert any(text.startswith("1 read of other processes") for text in texts(found))


def much_computed(probe=None):
    """Sixteen pages in order, each mapped at once, and 400 µs of computing after each."""
    pages = []
    for page in range(16):
        at = 1000 + 401_300 * page
        mapped = event(Kind.MAP_PAGES, pid=A, ino=1, index=page, time_ns=at + 1310)
        pages += [*missed(at, page), mapped]
    start = started(switch(0, IDLE, A), *pages, *ended(1000 + 16 * 401_300, A))
    return prepare(inputs(replace(start.recording, probe=probe), LINUX), LINUX, DEVICE)


def test_much_computing_between_reads_on_an_unknown_processor_widens_the_band():
    """Of 400 µs after a wait, 40 % of 200 µs are due to cold caches: 80 of 401, but for one."""
    start = much_computed()
    windows = [0, 16]
    (found,) = by_window(start, windows, start.timed(windows))
    assert "how slowly the processor computes after a wait is unknown" in found.text
    assert "up to 19% faster with a window of 64 KiB" in found.text
    assert found.spread == pytest.approx(0.4 * 200 / 401 * 15 / 16 / 1.645, rel=0.1)
    assert not found.unusable


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_a_probe_shows_how_slowly_a_processor_computes_after_a_wait(share):
    cold = [int(10_000 * (1 + share))] * 8
    rounds = [ComputingRound(first=0, warm_ns=[10_000] * 8, cold_ns=cold)] * 12
    probe = DiskProbe(dev="7:0", name="loop0", computing=Computing(kinds=["a"] * 8, rounds=rounds))
    start = much_computed(probe)
    assert not [*by_window(start, [0, 16], start.timed([0, 16]))]
    assert start.cpu.cold_share == pytest.approx(share)
    seconds = [run.compute_ns for run in start.timed([0, 16])]
    assert (seconds[1] < 0.98 * seconds[0]) == bool(share)


def test_an_emulated_processor_has_no_caches():
    start = much_computed(EMULATED)
    assert not [*by_window(start, [0, 16], start.timed([0, 16]))]
    assert start.cpu.cold_share == 0


def test_captures_that_disagree():
    same = [[1.0, 0.50], [1.001, 0.501]]
    assert not [*disagreement(4096, [0, 4], np.array(same))]
    (found,) = disagreement(4096, [0, 4], np.array([[1.0, 0.50], [1.0, 0.55]]))
    assert found.text.endswith("0.500 to 0.550 s with a window of 16 KiB")
    assert found.spread > 0.05
    assert not found.unusable
    (found,) = disagreement(4096, [0, 4], np.array([[1.0, 0.5], [1.0, 2.5]]))
    assert found.unusable
