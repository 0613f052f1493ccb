"""The fate of pages under the emulation of the watched machine, from hand-made events."""

import pytest
from event_table import DISK, event, insert, read, table
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.ingest.tables import Kind
from foreread.analyzer.top.emulated import fates
from foreread.analyzer.top.machine import FileSystem, watched
from foreread.analyzer.top.rows import Figures, by_key
from foreread.analyzer.top.seen import Seen
from foreread.boards.mounts import MountPoint
from foreread.boards.stack import Stack

FILE, CAT, PERL = 40, 7, 8
MOUNT = MountPoint("7:0", "/", "/", "rw", "ext4", "/dev/loop0", "rw")


@pytest.fixture
def machine():
    """Linux 6.12 with a window of 8 pages."""
    stack = Stack(dev="7:0", mountpoint="/", file_system="ext4", device="loop0", read_ahead_kb=32)
    return watched("6.12.1", "x86_64", 4096, 8, [stack], [MOUNT], frozenset({DISK}), {})


def get_pages(first, last, pid=CAT):
    return event(Kind.GET_PAGES, pid=pid, ino=FILE, index=first, value=last)


def fault(page, pid=CAT):
    return event(Kind.FAULT, pid=pid, ino=FILE, index=page)


def map_pages(first, last, pid=CAT):
    return event(Kind.MAP_PAGES, pid=pid, ino=FILE, index=first, value=last)


def inserts(pages, pid=CAT):
    """The pages of one readahead, and the bio that fills them."""
    return [*(insert(FILE, page, pid=pid) for page in pages), read(0, len(pages), pid=pid)]


def figures(machine, *intervals):
    seen = Seen(machine)
    for events in intervals:
        now = seen.add(table(*events))
    found = by_key(seen, now, fates(seen), lambda row, thread: thread)
    return seen, found


def test_a_sequential_read_misses_its_first_page_and_hits_those_read_ahead(machine):
    # The first window of a read of one page is four pages; the marker at page 1 reads eight more.
    first = [*inserts(range(4)), get_pages(0, 0)]
    second = [*inserts(range(4, 12)), get_pages(1, 1), get_pages(2, 2)]
    seen, found = figures(machine, first, second)
    assert found[CAT] == Figures(now=8, read=12, hits=2, missed=1, unused=9)
    assert seen.inodes == [(DISK, FILE)]


def test_a_fault_reads_around_and_another_thread_hits_what_was_mapped(machine):
    events = [fault(20), *inserts(range(16, 24)), map_pages(16, 31), map_pages(16, 31, PERL)]
    _, found = figures(machine, events)
    assert found[CAT] == Figures(now=8, read=8, hits=7, missed=1, unused=0)
    assert PERL not in found  # it touched first what CAT had mapped already


def test_pages_that_were_cached_before_are_neither_hits_nor_unused(machine):
    # Only pages 22 and 23 were absent: the kernel read no other of the window around 22.
    _, found = figures(machine, [fault(22), *inserts([22, 23])])
    assert found[CAT] == Figures(now=2, read=2, hits=0, missed=1, unused=1)
    _, found = figures(machine, [get_pages(0, 3)])
    assert found == {}


def test_written_pages_are_not_read(machine):
    _, found = figures(machine, [insert(FILE, 0, pid=CAT), *inserts([9, 10, 11, 12])])
    assert found[CAT].read == 4


def test_a_file_that_left_the_cache_is_counted_again(machine):
    once = [*inserts(range(4)), get_pages(0, 3)]
    seen, found = figures(machine, once, once)
    assert len(seen.inodes) == 2
    assert found[CAT] == Figures(now=4, read=8, hits=0, missed=8, unused=0)


def test_other_file_systems_are_left_out(machine):
    seen = Seen(machine)
    assert seen.add(table(event(Kind.FAULT, dev=1 << 20, ino=5))) == {}
    assert seen.inodes == []


def test_without_touches_only_reads_are_known(machine):
    seen = Seen(machine)
    now = seen.add(table(*inserts(range(4))))
    assert by_key(seen, now, None, lambda row, thread: thread) == {
        CAT: Figures(now=4, read=4, hits=None, missed=None, unused=None)
    }


def test_threads_of_a_process_are_added_up():
    one, two = Figures(1, 2, 3, 4, 5), Figures(10, 20, 30, 40, 50)
    assert one + two == Figures(11, 22, 33, 44, 55)
    assert Figures(1, 2, None, None, None) + two == Figures(11, 22, None, None, None)


def test_a_file_system_without_readahead_has_no_window():
    stack = Stack(dev="0:9", mountpoint="/", file_system="ubifs", device="", read_ahead_kb=128)
    mount = MountPoint("0:9", "/", "/", "rw", "ubifs", "ubi0", "rw")
    found = watched("6.12", "armv7l", 4096, 4, [stack], [mount], frozenset(), {})
    assert found.file_systems == {9: FileSystem("ubifs", 0, False, 0)}


KINDS = st.sampled_from([Kind.INSERT, Kind.FAULT, Kind.GET_PAGES, Kind.MAP_PAGES, Kind.BIO_QUEUE])
NUMBERS = st.integers(0, 2**64 - 1) | st.integers(0, 40)
HOSTILE = st.lists(
    st.builds(
        lambda kind, ino, index, value: event(
            kind, ino=ino, index=index, value=min(value, 3) if kind == Kind.INSERT else value
        ),
        KINDS,
        st.integers(0, 3),
        NUMBERS,
        NUMBERS,
    ),
    max_size=30,
)


@given(HOSTILE)
def test_any_events_give_figures_that_add_up(events):
    machine = _machine()
    seen = Seen(machine)
    now = seen.add(table(*events))
    found = fates(seen)
    assert found.pages <= len(seen.read_by)
    assert sum(now.values()) == len(seen.read_by)


def _machine():
    stack = Stack(dev="7:0", mountpoint="/", file_system="ext4", device="loop0", read_ahead_kb=32)
    return watched("6.12.1", "x86_64", 4096, 8, [stack], [MOUNT], frozenset({DISK}), {})
