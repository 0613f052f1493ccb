"""First touches: order, distinct pages, process trees, contaminated recordings."""

import numpy as np
from event_table import DISK, event, insert, read, table
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.ingest.accesses import (
    batched_share,
    of_threads,
    process_tree,
    read_pages,
    touched,
)
from foreread.analyzer.ingest.inserts import find_inserts
from foreread.analyzer.ingest.tables import Kind

EXT4 = {DISK: "ext4"}


def pages_of(events):
    inserts = find_inserts(events, 4096, EXT4)
    files, accesses, _ = read_pages(inserts, np.ones(inserts.data.rows, bool))
    ino = files["ino"][accesses["file"]].tolist()
    return files, accesses, list(zip(ino, accesses["page"].tolist(), strict=True))


def test_pages_that_were_reclaimed_are_read_again():
    events = table(insert(7, 3), read(10, 1), insert(5, 0), read(90, 1), insert(7, 3), read(10, 1))
    inserts = find_inserts(events, 4096, EXT4)
    files, first, again = read_pages(inserts, np.ones(inserts.data.rows, bool))
    assert (first.rows, again.rows) == (2, 1)
    assert (files["ino"][again["file"]].tolist(), again["page"].tolist()) == ([7], [3])
    assert again["time_ns"][0] > first["time_ns"].max()


def fault(ino, index, **more):
    return event(Kind.FAULT, ino=ino, index=index, **more)


def get_pages(ino, first, last, **more):
    return event(Kind.GET_PAGES, ino=ino, index=first, value=last, **more)


def test_order_is_that_of_time_and_a_page_counts_once():
    events = table(insert(7, 3), read(10, 1), insert(5, 0), read(90, 1), insert(7, 3), read(10, 1))
    files, _, pages = pages_of(events)
    assert pages == [(7, 3), (5, 0)]
    assert dict(zip(files["ino"].tolist(), files["accessed"].tolist(), strict=True)) == {5: 1, 7: 1}


def test_a_large_folio_is_all_its_pages():
    _, _, pages = pages_of(table(insert(7, 8, order=2), read(10, 4)))
    assert pages == [(7, 8), (7, 9), (7, 10), (7, 11)]


def test_the_process_tree_includes_threads_and_grandchildren_only():
    def fork(parent, child):
        return event(Kind.FORK, pid=parent, value=child)

    events = table(fork(1, 2), fork(9, 10), fork(2, 3), fork(4, 5), fork(3, 4))
    assert process_tree(events, {1}) == {1, 2, 3, 4}
    assert process_tree(events, {4, 9}) >= {4, 9}
    rows = of_threads(table(insert(1, 1, pid=4), insert(1, 2, pid=10)), {1, 4})
    assert rows.tolist() == [True, False]


def test_batches_betray_readahead():
    alone = table(*(e for i in range(50) for e in (insert(5, i), read(i * 8, 1))))
    ahead = table(*(insert(5, i) for i in range(50)), read(0, 50))
    alone, ahead = (find_inserts(events, 4096, EXT4) for events in (alone, ahead))
    assert batched_share(alone, np.ones(50, bool)) == 0
    assert batched_share(ahead, np.ones(50, bool)) == 1
    assert batched_share(ahead, np.zeros(50, bool)) == 0


def test_touched_pages_are_those_of_faults_and_reads_in_their_order():
    events = table(
        *(insert(5, i) for i in range(8)),
        read(0, 8),
        get_pages(5, 6, 7),
        fault(5, 2),
        fault(5, 6),
        fault(99, 2),
    )
    files, pages, _ = pages_of(events)
    found = touched(files, pages, events)
    assert found["page"].tolist() == [6, 7, 2]
    assert found["time_ns"].tolist() == [10000, 10000, 11000]


def test_a_read_far_beyond_the_file_is_bounded_by_what_was_read():
    events = table(insert(5, 0), read(0, 1), get_pages(5, 0, 2**64 - 1))
    files, pages, _ = pages_of(events)
    assert touched(files, pages, events)["page"].tolist() == [0]


touches = st.lists(
    st.one_of(
        st.builds(fault, st.integers(5, 7), st.integers(0, 12)),
        st.builds(
            lambda ino, low, n: get_pages(ino, low, low + n),
            st.integers(5, 7),
            st.integers(0, 12),
            st.integers(0, 5),
        ),
    ),
    max_size=40,
)


@given(touches)
def test_touched_agrees_with_a_plain_walk(chosen):
    inserted = [insert(ino, i) for ino in (5, 6) for i in range(10)]
    events = table(*inserted, read(0, 20), *chosen)
    files, pages, _ = pages_of(events)
    expected = []
    for kind, ino, low, last in zip(
        *(events[n].tolist() for n in ("kind", "ino", "index", "value")), strict=True
    ):
        if kind in (Kind.FAULT, Kind.GET_PAGES) and ino in (5, 6):
            span = range(low, (low if kind == Kind.FAULT else last) + 1)
            expected += [(ino, p) for p in span if p < 10 and (ino, p) not in expected]
    found = touched(files, pages, events)
    ino = files["ino"][found["file"]].tolist()
    assert list(zip(ino, found["page"].tolist(), strict=True)) == expected
