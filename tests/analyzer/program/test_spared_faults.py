"""Faults of a recording without fault-around: which others spare, and what one costs."""

import numpy as np
from event_table import event, table

from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import Kind
from foreread.analyzer.program.spared_faults import SparedFaults

PAGE = 4096
NAMES = frozenset({"filemap:mm_filemap_map_pages"})
EVENT_NS, FAULT_NS = 1_000, 4_000


def fault(time_ns, page, pid=1, ino=5, cpu=0):
    return event(Kind.FAULT, pid=pid, ino=ino, index=page, time_ns=time_ns, cpu=cpu)


def spared(events, names=NAMES):
    trace = Trace("test", table(*sorted(events)), event_names=names)
    return SparedFaults(trace, PAGE, EVENT_NS)


def a_row_of_faults(pages, start_ns=0):
    each = EVENT_NS + FAULT_NS
    return [fault(start_ns + at * each, page) for at, page in enumerate(pages)]


def test_a_thread_faults_once_in_each_64_kib_with_fault_around():
    found = spared(a_row_of_faults(range(40)))
    assert found.each_ns == FAULT_NS
    end = np.array([0, 16 * 5_000 + 1, 10**9])
    assert found.before(1, end).tolist() == [0, 15, 40 - 3]
    assert found.before(2, end).tolist() == [0, 0, 0]
    assert found.total_ns == (40 - 3) * FAULT_NS


def test_another_program_and_another_file_fault_anew():
    more = [event(Kind.EXEC, time_ns=300_000), fault(310_000, 3), fault(320_000, 3, ino=6)]
    found = spared(
        [*a_row_of_faults(range(40)), *more, fault(330_000, 4), fault(340_000, 3, pid=2)]
    )
    assert found.before(1, np.array([300_000, 325_000, 335_000])).tolist() == [37, 37, 38]
    assert found.before(2, np.array([10**9])).tolist() == [0]


def test_none_is_spared_where_fault_around_was_on_or_is_unseen():
    end = np.array([10**9])
    events = a_row_of_faults(range(40))
    mapped = event(Kind.MAP_PAGES, ino=5, index=0, value=15, time_ns=10**6)
    for found in (spared([*events, mapped]), spared(events, frozenset())):
        assert found.before(1, end).tolist() == [0]
        assert found.each_ns == 0


def test_other_events_between_faults_do_not_make_them_cost_more_or_less():
    """Faults of two processors interleave; few faults in a row cost nothing known."""
    here = a_row_of_faults(range(30))
    there = [
        fault(time + 100, page, pid=2, cpu=1) for time, page in ((5_000 * n, n) for n in range(3))
    ]
    assert spared([*here, *there]).each_ns == FAULT_NS
    assert spared(there).each_ns == 0
