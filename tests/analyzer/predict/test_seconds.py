"""Seconds by window: from a capture's events to the predicted best and the verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest
from capture_builder import capture_of, device_of, host_of
from event_table import R, event, insert, read, table

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import Kind
from foreread.analyzer.predict import linux
from foreread.analyzer.predict.doubts import start as doubts_of_starts
from foreread.analyzer.predict.doubts.doubt import Doubt
from foreread.analyzer.predict.linux import predict_linux
from foreread.emulator.devices.device import FixedCost
from foreread.tracer.formats.capture import NO_METADATA, Capture, FileEntry
from foreread.tracer.formats.disk_probe import Computing, ComputingRound, DiskProbe

PAGE = 4096
PAGES = 64
SERVICE_NS, COMPUTED_NS = 1_200_000, 300_000
DEVICE = FixedCost(1_000_000, 50_000)
AS_FAST = ComputingRound(first=0, warm_ns=[10_000] * 8, cold_ns=[10_000] * 8)
AS_FAST_AFTER_WAITS = DiskProbe(
    dev="7:0", name="disk0", computing=Computing(kinds=["any"] * 8, rounds=[AS_FAST] * 12)
)
ENTRY = FileEntry(dev="7:0", ino=1, path="/a", size_bytes=PAGES * PAGE)


def captured(
    end_ns: int, current: int, devices: int = 1, kernel="6.12.1", machine="x86_64"
) -> Capture:
    disks = [
        device_of(f"{7 + row}:0", f"disk{row}", read_ahead_kb_before=current)
        for row in range(devices)
    ]
    return capture_of(
        host=host_of(kernel=kernel, machine=machine),
        command=["true"],
        pid=1,
        end_ns=end_ns,
        devices=disks,
        mounts=[],
    )


def recorded(
    current: int = 128,
    pages=range(PAGES),
    large: int = 0,
    threads: int = 1,
    computed_ns: int = COMPUTED_NS,
    beside: int = 0,
    **host,
):
    """Page 0 is faulted in, others are read, 300 µs apart; then ``large`` reads of metadata.

    Before that ``beside`` pages of another disk are read, in as long. The processor computes as
    fast after a wait as without.
    """
    events, now = [], 0
    other = {"dev": 8 << 20}
    for page in range(beside):
        now += COMPUTED_NS
        events += [insert(1, page, time_ns=now, **other), read(page * 8, 1, time_ns=now, **other)]
        now += SERVICE_NS
    for page in pages:
        now += computed_ns
        pid = 1 + page % threads
        if page == 0:
            events.append(event(Kind.FAULT, pid=pid, ino=1, index=page, time_ns=now - 5_000))
        events += [
            insert(1, page, pid=pid, time_ns=now - 3_000),
            read(page * 8, 1, pid=pid, time_ns=now - 10),
            event(Kind.RQ_ISSUE, index=page * 8, value=8, flags=R, time_ns=now),
        ]
        now += SERVICE_NS
        events.append(event(Kind.RQ_COMPLETE, index=page * 8, value=8, flags=R, time_ns=now))
        kind = Kind.GET_PAGES if page else Kind.MAP_PAGES
        events.append(event(kind, pid=pid, ino=1, index=page, value=page, time_ns=now + 500))
    for row in range(large):
        sector = 100_000 + 128 * row
        both = {"index": sector, "value": 128, "flags": R | 8}
        events.append(event(Kind.RQ_ISSUE, **both, time_ns=now))
        now += 4_200_000
        events.append(event(Kind.RQ_COMPLETE, **both, time_ns=now))
    trace = Trace("test", table(*events), kernel=host.get("kernel", "6.12.1"))
    recording = interpret(trace, captured(now + 50, current, **host), [ENTRY], "all")
    return replace(recording, probe=AS_FAST_AFTER_WAITS)


def test_without_readahead_the_replay_takes_the_recorded_time():
    """64 × 1.5 ms, less what recording 320 events, 10 ns apart at the closest, took."""
    found = predict_linux(recorded(), windows=[0, 32], device=DEVICE)
    assert found.total.seconds is not None
    assert found.total.seconds[0] == pytest.approx(64 * 1.5e-3, abs=1e-5)


def test_threads_whose_turns_are_not_in_the_capture_have_no_usable_seconds():
    """Taken for one sequence they were predicted 66 to 289 % wrong."""
    found = predict_linux(recorded(current=0, threads=2), windows=[0, 32], device=DEVICE)
    assert any(doubt.startswith("2 threads read on 2 CPUs") for doubt in found.doubts)
    assert (found.verdict.action, found.verdict.by) == ("measure", None)


def test_windows_beside_the_ladder_are_replayed_too():
    found = predict_linux(recorded(), windows=list(range(513, 600)), device=DEVICE)
    assert found.total.seconds[0] is not None


def test_a_sequential_read_is_fastest_with_readahead():
    """Every page is read once, in fewer requests; the disk cannot do it faster than its bytes."""
    found = predict_linux(recorded(current=0), windows=[0, 4, 32], device=DEVICE)
    alone, four, many = found.total.seconds
    assert alone > four > many > PAGES * (4 * 50e-6)
    assert found.total.predicted_best == 32
    assert (found.verdict.action, found.verdict.read_ahead_kb) == ("set", 128)
    assert found.devices[0].seconds == found.total.seconds


def test_the_present_setting_is_kept_if_it_is_as_good():
    found = predict_linux(recorded(current=128), windows=[0, 4, 32], device=DEVICE)
    assert (found.verdict.action, found.verdict.read_ahead_kb) == ("keep", 128)


def test_of_many_windows_some_are_replayed():
    found = predict_linux(recorded(current=20), device=DEVICE)
    seconds = found.total.seconds
    assert [w for w in range(20) if seconds[w] is not None] == [0, 1, 2, 3, 4, 5, 6, 8, 12, 16]
    assert len(seconds) == len(found.total.windows) == 1024


def test_the_device_is_learnt_from_the_capture():
    found = predict_linux(recorded(large=4), windows=[0])
    (disk,) = (note for note in found.notes if note.startswith("the disk, learnt from"))
    assert ": one request at a time, 1,000 µs a request and 50.0 µs a KiB" in disk
    assert found.total.seconds[0] == pytest.approx(64 * 1.5e-3 + 4 * 4.2e-3, abs=1e-5)


def test_an_unknown_disk_is_to_be_measured():
    found = predict_linux(recorded(), windows=[0, 32])
    assert (found.total.seconds, found.total.predicted_best) == (None, None)
    assert (found.verdict.action, found.verdict.read_ahead_kb) == ("measure", None)
    assert "the cost of the disk is unknown (nearly all reads are of 4 KiB" in found.verdict.why
    assert found.verdict.remedy == (
        "foreread calibrate -o disk0.toml /dev/disk0 && "
        "foreread predict CAPTURE --device-model disk0.toml"
    )
    assert found.by_criterion().verdict.by == "criterion"


@pytest.mark.parametrize("device", [None, DEVICE])
def test_a_trace_without_requests_has_no_seconds(device):
    trace = Trace("test", table(insert(1, 0), read(0, 1)), kernel="6.12.1")
    recording = interpret(trace, NO_METADATA, [ENTRY], "all")
    found = predict_linux(recording, windows=[0], device=device)
    assert found.total.seconds is None
    assert found.verdict.action == "none"  # one page only


def two_disks(pages):
    events = []
    for page in range(pages):
        for other in ({}, {"dev": 8 << 20}):
            events += [insert(1, page, **other), read(8 * page, 1, **other)]
            sectors = {"index": 8 * page, "value": 8, "flags": R, "time_ns": 10**6 * (page + 1)}
            events.append(event(Kind.RQ_ISSUE, **sectors, **other))
            events.append(event(Kind.RQ_COMPLETE, **sectors, **other))
    trace = Trace("test", table(*events), kernel="6.12.1")
    return interpret(trace, captured(10**9, 128, devices=2), [ENTRY], "all")


def test_two_disks_have_no_seconds():
    found = predict_linux(two_disks(1), windows=[0])
    assert found.total.seconds is None
    assert found.verdict.action == "none"
    found = predict_linux(two_disks(40), windows=[0])
    assert found.verdict.action == "measure"
    assert "one disk only" in found.verdict.why
    assert found.verdict.remedy == "foreread sweep -o sweep.json -- true"


def test_a_few_pages_of_another_disk_take_the_time_that_they_took():
    alone = predict_linux(recorded(), windows=[0, 32], device=DEVICE)
    found = predict_linux(recorded(beside=3), windows=[0, 32], device=DEVICE)
    for one, two in zip(alone.total.seconds, found.total.seconds, strict=True):
        assert two - one == pytest.approx(3 * 1.5e-3, abs=1e-4)
    assert [curve.seconds is None for curve in found.devices] == [False, True]
    assert any("other disks keep their recorded time" in note for note in found.notes)


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ({"kernel": "5.15.3"}, "the predicted seconds are unconfirmed for Linux 5.15"),
        ({"machine": "riscv64"}, "the predicted seconds are unconfirmed for Linux 6.12 on riscv64"),
    ],
)
def test_unconfirmed_kernels_and_processors_are_a_doubt_and_seconds_still_decide(host, said):
    found = predict_linux(recorded(current=0, **host), windows=[0, 32], device=DEVICE)
    assert said in found.doubts
    assert (found.verdict.by, found.verdict.read_ahead_kb) == ("seconds", 128)
    judged = predict_linux(recorded(current=0), windows=[0, 32], device=DEVICE)
    assert said not in judged.doubts


def test_a_device_that_is_known_badly_widens_the_band():
    windows = [0, 4, 32]
    sure = predict_linux(recorded(), windows=windows, device=DEVICE).total
    assert sure.seconds_low == pytest.approx(sure.seconds, rel=0.035)
    rough = FixedCost(DEVICE.latency_ns, DEVICE.ns_per_kib, band=0.2)
    one, two = (predict_linux(recorded(), windows=windows, device=rough) for _ in range(2))
    assert one.to_json() == two.to_json()
    for low, at, high in zip(
        one.total.seconds_low, one.total.seconds, one.total.seconds_high, strict=True
    ):
        assert low < 0.9 * at < 1.1 * at < high
    assert one.total.seconds == sure.seconds


def test_several_captures_give_their_median_and_widen_the_band():
    """Every page is computed for 0.36, 0.4 and 0.44 ms: starts of 99.8, 102.4 and 105.0 ms."""
    first, *more = (recorded(computed_ns=1000 * us) for us in (360, 400, 440))
    found = predict_linux(first, windows=[0, 32], device=DEVICE, more=more)
    assert found.total.seconds[0] == pytest.approx(64 * 1.6e-3, abs=1e-4)
    assert found.total.seconds_low[0] < 64 * 1.56e-3
    assert found.total.seconds_high[0] > 64 * 1.64e-3
    assert any("medians over 3 captures" in note for note in found.notes)
    assert any("captures of the same start disagree" in doubt for doubt in found.doubts)


def test_captures_that_differ_by_half_give_no_seconds():
    """Starts of 96, 102.4 and 115.2 ms; without waits for the disk they differ twofold."""
    first, *more = (recorded(computed_ns=1000 * us) for us in (300, 400, 600))
    found = predict_linux(first, windows=[0, 32], device=DEVICE, more=more)
    assert found.total.seconds is None
    assert found.verdict.action == "measure"


def test_the_seconds_are_spent_on_something():
    found = predict_linux(recorded(), windows=[0, 32], device=DEVICE).total
    spent = found.spent
    for row, seconds in enumerate(found.seconds):
        parts = spent.compute[row] + spent.waited[row] + spent.asleep[row]
        assert parts == pytest.approx(seconds, abs=1e-6)
        assert 0 <= spent.behind[row] <= spent.waited[row]
    assert spent.waited[0] == pytest.approx(64 * SERVICE_NS / 1e9)


@pytest.fixture
def doubted(monkeypatch):
    """Return a function that makes every replayed start have some doubts."""

    def give(*doubts):
        monkeypatch.setattr(linux, "of_seconds", lambda _: doubts)

    return give


def test_doubts_widen_the_predicted_band(doubted):
    sure = predict_linux(recorded(current=0), windows=[0, 32], device=DEVICE)
    doubted(Doubt("something is odd", 0.1))
    found = predict_linux(recorded(current=0), windows=[0, 32], device=DEVICE)
    assert found.doubts == ("something is odd",)
    assert found.total.seconds == sure.total.seconds
    assert found.verdict == sure.verdict
    for row, at in enumerate(found.total.seconds):
        assert found.total.seconds_high[row] - at > 0.15 * at > sure.total.seconds_high[row] - at


def test_an_unusable_start_withdraws_the_seconds(doubted):
    doubted(Doubt("time is charged to no thread", unusable=True), Doubt("odd", 0.1))
    found = predict_linux(recorded(current=0), windows=[0, 32], device=DEVICE)
    assert (found.verdict.action, found.verdict.by) == ("measure", None)
    assert "time is charged to no thread" in found.verdict.why
    assert found.verdict.remedy == "foreread record -o again.capture -- true"
    doubted(Doubt("the replay is off", unusable=True, of_disk=True))
    found = predict_linux(recorded(current=0), windows=[0, 32], device=DEVICE)
    assert found.verdict.remedy.startswith("foreread calibrate -o disk0.toml /dev/disk0 && ")
    assert (found.total.seconds, found.total.predicted_best) == (None, None)


def test_a_given_disk_may_be_another_one_than_the_recorded_start_ran_on(monkeypatch):
    """The replay on the own disk checks the capture; the seconds are those of the given disk."""
    recording = recorded(current=0)
    slower = replace(DEVICE, latency_ns=3 * DEVICE.latency_ns)
    own = predict_linux(recording, windows=[0, 32], device=DEVICE)
    monkeypatch.setattr("foreread.analyzer.predict.start._own_disk", lambda *_: DEVICE)
    found = predict_linux(recording, windows=[0, 32], device=slower)
    assert "the start-up was recorded on a disk other than the given one" in found.doubts
    assert found.verdict.by == "seconds"
    assert found.total.seconds[0] > 2 * own.total.seconds[0]
    monkeypatch.setattr("foreread.analyzer.predict.start._own_disk", lambda *_: None)
    assert own.doubts == ()
    unknown = predict_linux(recording, windows=[0, 32], device=slower)
    assert unknown.verdict.action == "measure"


def test_a_replay_that_is_off_on_both_disks_names_no_other_disk(monkeypatch):
    """The recorded run was delayed: the capture's own disk does not explain it either."""
    delayed = Doubt("2 % is unexplained", 0.02)
    monkeypatch.setattr(doubts_of_starts, "of_replay", lambda *_: iter([delayed]))
    monkeypatch.setattr("foreread.analyzer.predict.start._own_disk", lambda *_: DEVICE)
    found = predict_linux(recorded(current=0), windows=[0, 32], device=DEVICE)
    assert found.doubts == ("2 % is unexplained",)
    assert found.verdict.by == "seconds"
