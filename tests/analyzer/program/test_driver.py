"""The time that the kernel adds to a disk's, from made-up requests."""

from event_table import R, event, table

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import Kind
from foreread.analyzer.program.driver import handover_ns, with_driver
from foreread.emulator.devices.device import FixedCost
from foreread.tracer.formats.capture import NO_METADATA


def queued(asked_ns, issued_ns, number):
    """Requests that take 1000, asked for and issued at these times."""
    rows = []
    for row, (asked, issued) in enumerate(zip(asked_ns, issued_ns, strict=True)):
        place = {"index": 8 * (number + row), "value": 8, "flags": R}
        rows.append(event(Kind.BIO_QUEUE, time_ns=asked, **place))
        rows.append(event(Kind.RQ_ISSUE, time_ns=issued, **place))
        rows.append(event(Kind.RQ_COMPLETE, time_ns=issued + 1000, **place))
    return rows


def found(rows, each_ns=0.0):
    rows.sort(key=lambda row: row[0])
    recording = interpret(Trace("test", table(*rows)), NO_METADATA, [], "all")
    return handover_ns(recording.requests, recording.trace.events, each_ns)


def test_a_request_is_handed_on_when_the_one_before_is_over():
    """Four of each five wait for the one before: 50 later, of which recording took 10."""
    rows = []
    for start in range(0, 100_000, 10_000):
        issued = [start + 100 + 1050 * row for row in range(5)]
        rows += queued([start + row for row in range(5)], issued, start)
    assert found(rows, each_ns=10) == 50 - 10


def test_requests_that_wait_for_none_are_not_handed_on():
    times = range(0, 100_000, 5000)
    assert found(queued(times, [at + 10 for at in times], 0)) == 0


def test_requests_delayed_by_a_limiter_are_not_counted_as_handover():
    later = 50_000_000
    assert found(queued(range(20), [100 + later * row for row in range(20)], 0)) == 0


def test_driver_time_is_the_extra_time_on_the_same_disk():
    given = FixedCost(1000, 100, band=0.1)
    assert with_driver(given, FixedCost(1030, 102)) == FixedCost(1030, 102, band=0.1)


def test_requests_of_another_disk_do_not_correct_a_given_one():
    given = FixedCost(1000, 100)
    for other in (FixedCost(1100, 100), FixedCost(900, 100), FixedCost(1000, 120)):
        assert with_driver(given, other) == given
