"""No verdict comes from an input that lacks the evidence for it: each row of the table."""

from __future__ import annotations

from dataclasses import replace

import pytest
from capture_builder import capture_of, device_of
from event_table import R, event, insert, read, table

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import Kind, Rwbs
from foreread.analyzer.predict.basis import LACKS, Answer, lacking, lacks_of, supported
from foreread.analyzer.predict.choice import predict_by
from foreread.analyzer.predict.linux import predict_linux
from foreread.analyzer.predict.prediction import Verdict
from foreread.analyzer.predict.verdict import FEW_PAGES
from foreread.emulator.devices.device import FixedCost
from foreread.tracer.formats.capture import NO_METADATA

DISK = 7 << 20
NFS = 44
DEVICE = FixedCost(1_000_000, 50_000)
MANY, FEW = 2 * FEW_PAGES, FEW_PAGES // 2
READ_AHEAD, MANY_UNSURE, SOME_UNSURE, MANY_LOST, SOME_LOST, MANY_UNREAD, SOME_UNREAD, NO_ENDS = (
    LACKS
)


def pages(number, ends=True, queued=True, together=1, dev=DISK, begin_ns=0):
    """Return pages that are read one after the other, with their requests."""
    events, now = [], begin_ns
    for page in range(0, number, together):
        now += 2_000_000
        sectors = {"index": 8 * page, "value": 8 * together, "flags": R, "dev": DISK}
        group = range(page, page + together)
        events += [insert(5, one, dev=dev, time_ns=now - 900) for one in group]
        if queued:
            events.append(read(8 * page, together, dev=DISK, time_ns=now - 500))
        pid = 1 if queued else 99
        events.append(event(Kind.RQ_ISSUE, pid=pid, time_ns=now, **sectors))
        if ends:
            events.append(event(Kind.RQ_COMPLETE, pid=0, time_ns=now + 1_200_000, **sectors))
    return events


def foreign(events, **trace):
    return interpret(
        Trace("test", table(*events), kernel="6.12.1", **trace), NO_METADATA, [], "all"
    )


def captured(events, **changes):
    trace = Trace("test", table(*events), kernel="6.12.1")
    devices = [device_of("7:0", filesystems=["7:0"])]
    return interpret(trace, capture_of(pid=1, devices=devices, **changes), [], "all")


@pytest.mark.parametrize(
    ("recording", "lacks"),
    [
        (captured(pages(MANY)), []),
        (foreign(pages(MANY)), []),
        (captured(pages(MANY), read_ahead_kb=128), [READ_AHEAD]),
        (foreign(pages(MANY, together=8)), [READ_AHEAD]),
        (foreign(pages(MANY, queued=False)), [MANY_UNSURE, SOME_UNSURE]),
        (foreign([insert(5, 1), insert(5, 2)]), [MANY_UNSURE, SOME_UNSURE, NO_ENDS]),
        (foreign([*pages(MANY), insert(6, 1, dev=NFS, time_ns=5)]), [SOME_UNSURE]),
        (foreign(pages(MANY), lost={0: 1}), [SOME_LOST]),
        (captured(pages(MANY), lost={"0": 1}), [SOME_LOST]),
        (foreign(pages(MANY), lost={0: 999}), [MANY_LOST, SOME_LOST]),
        (foreign(pages(MANY), uncounted="unknown"), [SOME_LOST]),
        (foreign(pages(MANY), unread=1), [SOME_UNREAD]),
        (foreign(pages(MANY), unread=999), [MANY_UNREAD, SOME_UNREAD]),
        (captured(pages(MANY, ends=False)), [NO_ENDS]),
    ],
)
def test_an_input_lacks_what_it_does_not_hold(recording, lacks):
    assert [one for one in LACKS if one.why(recording) is not None] == lacks
    withheld = {answer for lack in lacks for answer in lack.withheld}
    assert {answer for answer in Answer if any(lacking(recording, answer))} == withheld


@pytest.mark.parametrize(
    "recording",
    [
        foreign(pages(FEW, queued=False)),
        foreign(pages(FEW), lost={0: 1}),
        foreign(pages(FEW), uncounted="unknown"),
        captured(pages(FEW), read_ahead_kb=128),
    ],
)
def test_few_pages_are_a_verdict_only_with_all_the_evidence(recording):
    assert predict_by(foreign(pages(FEW))).verdict.action == "none"
    found = predict_by(recording)
    for verdict in (found.verdict, found.published):
        assert verdict.action == "measure"
        assert verdict.why.startswith(f"only {FEW} pages accessed, but ")
        assert verdict.remedy.startswith("foreread record ")


@pytest.mark.parametrize(
    "recording",
    [
        foreign(pages(MANY, queued=False)),
        foreign(pages(MANY, together=8)),
        foreign(pages(MANY), lost={0: 999}),
    ],
)
def test_neither_criterion_recommends_a_window_without_the_evidence(recording):
    found = predict_linux(recording, "linux-6.12", [0, 32], DEVICE)
    assert found.total.seconds is None
    assert (found.verdict.action, found.published.action) == ("measure", "measure")
    assert found.published.why.startswith("no window is recommended, but ")
    assert found.doubts


def test_what_an_input_supports_is_left_alone():
    verdict = Verdict("set", 32, "why", "seconds")
    whole, lacking_all = captured(pages(MANY)), foreign([insert(5, 1)])
    assert supported(verdict, whole, lacks_of(whole)) == verdict
    measure = Verdict("measure", None, "why")
    assert supported(measure, lacking_all, lacks_of(lacking_all)) == measure


def large_reads(begin_ns):
    """Return four reads of metadata, of 64 KiB each: they show the cost of a KiB."""
    for row in range(4):
        sectors = {"index": 100_000 + 128 * row, "value": 128, "flags": R | Rwbs.META}
        issue_ns = begin_ns + 5_000_000 * row
        yield event(Kind.RQ_ISSUE, time_ns=issue_ns, **sectors)
        yield event(Kind.RQ_COMPLETE, pid=0, time_ns=issue_ns + 4_200_000, **sectors)


def test_the_disk_is_learnt_from_the_requests_of_another_tools_trace():
    recording = foreign([*large_reads(1_000), *pages(MANY, begin_ns=30_000_000)])
    learnt, given = (
        predict_linux(recording, "linux-6.12", [0, 32], device) for device in (None, DEVICE)
    )
    (disk,) = (note for note in learnt.notes if note.startswith("the disk, learnt from"))
    assert ": one request at a time, 1,000 µs a request and 50.0 µs a KiB" in disk
    assert learnt.total.seconds == pytest.approx(given.total.seconds, rel=0.001)
    assert learnt.verdict.by == "seconds"


def test_seconds_of_another_tools_trace_are_withdrawn_with_the_cost_of_another_disk():
    other = FixedCost(3_000_000, 50_000)
    found = predict_linux(foreign(pages(MANY)), "linux-6.12", [0, 32], other)
    assert found.total.seconds is None
    assert found.verdict.action == "measure"
    assert "of the time is unexplained" in found.verdict.why


def test_seconds_of_another_tools_trace_have_a_wider_band():
    recording, capture = foreign(pages(MANY)), captured(pages(MANY), end_ns=200_000_000)
    trace, own = (predict_linux(one, "linux-6.12", [0, 32], DEVICE) for one in (recording, capture))
    assert trace.total.seconds is not None
    assert trace.verdict.by == "seconds"
    assert any("neither the command and its end nor the machine" in one for one in trace.doubts)
    width, usual = (
        (one.total.seconds_high[0] - one.total.seconds_low[0]) / one.total.seconds[0]
        for one in (trace, own)
    )
    assert width > usual
    assert trace.total.seconds[0] == pytest.approx(MANY * 2e-3, rel=0.05)
    without = replace(recording, requests=recording.requests.take(recording.requests["dev"] < 0))
    assert "no request" in predict_linux(without, "linux-6.12", [0, 32], DEVICE).verdict.why
