"""Requests: each issue finds its own completion."""

from event_table import DISK, R, event, table

from analyzer.ingest.requests import find_requests
from analyzer.ingest.tables import Kind


def issue(sector, sectors=8, dev=DISK):
    return event(Kind.RQ_ISSUE, index=sector, value=sectors, flags=R, dev=dev)


def complete(sector, sectors=8, dev=DISK):
    return event(Kind.RQ_COMPLETE, index=sector, value=sectors, flags=R, dev=dev)


def test_each_issue_has_its_completion():
    requests = find_requests(table(issue(0), issue(80), complete(80), complete(0)))
    assert requests["sector"].tolist() == [0, 80]
    assert requests["complete_ns"].tolist() == [4000, 3000]


def test_a_sector_read_twice_keeps_its_order():
    requests = find_requests(table(issue(0), complete(0), issue(0), complete(0)))
    assert requests["complete_ns"].tolist() == [2000, 4000]


def test_a_missing_completion_is_zero():
    requests = find_requests(table(issue(0), issue(0), complete(0), complete(5)))
    assert requests["complete_ns"].tolist() == [0, 3000]


def test_devices_are_told_apart():
    other = (8 << 20) | 1
    requests = find_requests(table(issue(0), issue(0, dev=other), complete(0, dev=other)))
    assert requests["complete_ns"].tolist() == [0, 3000]
