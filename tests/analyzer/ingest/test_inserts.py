"""Inserts that a read filled, distinguished from written pages, holes and metadata."""

import numpy as np
import pytest
from event_table import BDEV, DISK, R, event, insert, metadata_insert, read, table
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.ingest.inserts import find_inserts, in_block_devices
from foreread.analyzer.ingest.read_evidence import Unseen
from foreread.analyzer.ingest.tables import Kind, Rwbs

PAGE = 4096
EXT4 = {DISK: "ext4"}


def pages(events, fstypes=EXT4):
    return find_inserts(events, PAGE, fstypes).pages.tolist()


def test_a_read_fills_the_insert_before_it():
    assert pages(table(insert(5, 0), read(100, 1), insert(5, 9), read(800, 1))) == [1, 1]


def test_a_written_page_is_followed_by_no_read():
    assert pages(table(insert(5, 0), insert(5, 1), insert(6, 0), read(100, 1))) == [0, 0, 1]


def test_a_long_read_fills_the_run_before_it():
    found = find_inserts(
        table(insert(4, 3), *(insert(5, i) for i in range(4)), read(100, 4)), PAGE, EXT4
    )
    assert found.pages.tolist() == [0, 1, 1, 1, 1]
    assert found.group.tolist() == [0, 4, 4, 4, 4]


def test_several_reads_fill_one_run():
    run = [insert(5, i) for i in range(4)]
    assert pages(table(*run, read(100, 1), read(900, 3))) == [1, 1, 1, 1]


def test_a_last_page_of_part_of_a_block_counts_whole():
    short = event(Kind.BIO_QUEUE, index=100, value=2, flags=R)
    assert pages(table(insert(5, 0), short)) == [1]


def test_threads_do_not_fill_each_other():
    events = table(
        insert(5, 0, pid=1), insert(6, 0, pid=2), read(100, 1, pid=2), read(200, 1, pid=1)
    )
    assert pages(events) == [1, 1]
    assert pages(table(insert(5, 0, pid=1), read(100, 1, pid=2))) == [0]


def test_the_next_thread_in_order_does_not_lend_its_reads():
    events = table(insert(5, 0, pid=1), read(100, 1, pid=2), insert(6, 0, pid=2))
    assert pages(events) == [0, 0]


def test_a_write_fills_nothing():
    wrote = event(Kind.BIO_QUEUE, index=100, value=8, flags=int(Rwbs.WRITE))
    assert pages(table(insert(5, 0), wrote)) == [0]


def test_metadata_is_counted_apart_and_its_reads_fill_no_data():
    # An extent block is read between the insert of a data page and its own read.
    meta = R | int(Rwbs.META)
    found = find_inserts(
        table(insert(5, 0), metadata_insert(40), read(320, 1, flags=meta), read(100, 1)),
        PAGE,
        EXT4,
    )
    assert found.pages.tolist() == [1]
    assert found.metadata.rows == 1


def test_inode_tables_read_ahead_without_the_m_flag_fill_no_written_page():
    ahead = R | int(Rwbs.AHEAD)
    events = table(insert(5, 0), metadata_insert(40), read(320, 1, flags=ahead))
    assert pages(events) == [0]


def test_only_pages_with_a_read_of_their_own_were_read_alone():
    # squashfs unpacks a fragment that it has read for page 0 into pages 1 and 2.
    events = table(insert(5, 0), read(100, 1), insert(5, 1), insert(5, 2))
    found = find_inserts(events, PAGE, {DISK: "squashfs"}, block_pages={DISK: 32})
    assert found.alone.tolist() == [True, False, False]
    events = table(insert(5, 0), read(100, 1), insert(5, 1), read(108, 1))
    for pages, second in ((32, False), (2, False), (1, True)):
        found = find_inserts(events, PAGE, {DISK: "squashfs"}, block_pages={DISK: pages})
        assert found.alone.tolist() == [True, second]
    assert find_inserts(table(insert(5, 0), insert(5, 1)), PAGE, EXT4).alone.tolist() == [True] * 2


def test_compressed_reads_fill_all_pages_before_them():
    run = [insert(5, i) for i in range(32)]
    assert pages(table(*run, read(100, 5)), {DISK: "squashfs"}) == [1] * 32
    assert sum(pages(table(*run, read(100, 5)), {DISK: "ext4"})) == 5


def test_a_compressed_read_fills_no_page_written_to_another_file_before_it():
    written = [insert(4, i) for i in range(3)]
    events = table(*written, insert(5, 0), insert(5, 1), read(100, 1))
    assert pages(events, {DISK: "btrfs"}) == [0, 0, 0, 1, 1]


def test_pages_of_read_only_file_systems_count_before_and_after_the_read_of_their_block():
    events = table(insert(5, 3), read(100, 1), insert(5, 0), insert(5, 1))
    assert pages(events, {DISK: "squashfs"}) == [1, 1, 1]
    assert pages(events, {DISK: "ext4"}) == [1, 0, 0]
    another_thread = table(insert(5, 0, pid=1), read(100, 5, pid=1), insert(5, 1, pid=2))
    assert pages(another_thread, {DISK: "squashfs"}) == [1, 1]


@pytest.mark.parametrize(("fstype", "ino"), [("btrfs", 1), ("f2fs", 1), ("f2fs", 2), ("erofs", 0)])
def test_inodes_that_a_file_system_keeps_for_itself_are_metadata(fstype, ino):
    found = find_inserts(table(insert(ino, 7), insert(300, 0), read(100, 1)), PAGE, {DISK: fstype})
    assert found.data["ino"].tolist() == [300]
    assert found.metadata.rows == 1


def test_inode_tables_of_a_partition_are_found_from_its_start():
    ahead = R | int(Rwbs.AHEAD)
    events = table(insert(5, 0), metadata_insert(40), read(2048 + 320, 1, flags=ahead))
    assert find_inserts(events, PAGE, EXT4, {2048}).pages.tolist() == [0]


@pytest.mark.parametrize(
    ("disks", "ino", "metadata"),
    [
        ({DISK: DISK}, DISK, [True, False]),
        ({DISK: DISK}, DISK + 5, [False, True]),  # a disk that was mounted meanwhile, by others
        ({DISK: DISK}, 0, [True, True]),
        ({}, DISK + 5, [True, True]),
    ],
)
def test_metadata_is_on_the_disk_that_its_inode_names(disks, ino, metadata):
    dev, sector = np.array([DISK, DISK + 5], np.uint32), np.array([320, 320], np.uint64)
    inserts = table(event(Kind.INSERT, dev=BDEV, ino=ino, index=40))
    assert in_block_devices(dev, sector, inserts, PAGE, (), disks).tolist() == metadata


def test_small_blocks_of_data_share_pages_with_metadata():
    # ext4 with blocks of 1 KiB: the read starts within a page of the block device.
    events = table(metadata_insert(40), insert(5, 0), read(326, 1))
    assert pages(events) == [1]


def test_a_large_folio_counts_its_pages():
    assert pages(table(insert(5, 0, order=2), read(100, 4))) == [4]


def test_without_block_events_everything_counts():
    found = find_inserts(table(insert(5, 0), insert(5, 1)), PAGE, {})
    assert found.pages.tolist() == [1, 1]
    assert not found.reads_recorded


def test_issued_requests_show_no_written_page():
    """Another thread may have issued the requests of the first insert."""
    issued = event(Kind.RQ_ISSUE, index=100, value=8, flags=R)
    found = find_inserts(table(insert(5, 0), insert(6, 0), issued), PAGE, EXT4)
    assert found.pages.tolist() == [1, 1]
    assert found.unseen.tolist() == [Unseen.NOT_QUEUED, 0]


def test_remote_pages_have_no_block_reads():
    remote = (0 << 20) | 44
    events = table(insert(5, 0, dev=remote), insert(6, 0), read(100, 1))
    for fstype in ("nfs", "fuse.sshfs", "ubifs"):
        assert pages(events, {remote: fstype, DISK: "ext4"}) == [1, 1]


def test_empty():
    found = find_inserts(table(), PAGE, {})
    assert found.data.rows == 0 and found.metadata.rows == 0


def filled_one_by_one(events):
    """The rule, read aloud: the slow reference."""
    waiting = {}
    reading = {}  # pages of the reads since the last insert, by thread
    filled = []
    kinds, pids, values = (events[n].tolist() for n in ("kind", "pid", "value"))
    for kind, pid, value in zip(kinds, pids, values, strict=True):
        if kind == Kind.INSERT:
            if reading.pop(pid, 0):
                waiting[pid] = []
            waiting.setdefault(pid, []).append(len(filled))
            filled.append(0)
        else:
            reading[pid] = reading.get(pid, 0) + value
            for row in waiting.get(pid, [])[::-1][: -(-reading[pid] // 8)]:
                filled[row] = 1
    return filled


events_of_threads = st.lists(
    st.one_of(
        st.builds(insert, st.integers(5, 6), st.integers(0, 9), pid=st.integers(1, 3)),
        st.builds(read, st.just(10**6), st.integers(1, 4), pid=st.integers(1, 3)),
    ),
    max_size=60,
)


@given(events_of_threads)
def test_agrees_with_the_rule_read_aloud(events):
    events = table(*events)
    if not (events["kind"] == Kind.BIO_QUEUE).any():
        return
    assert pages(events) == filled_one_by_one(events)


def test_metadata_of_one_thread_says_nothing_of_anothers_read():
    events = table(insert(5, 0, pid=1), metadata_insert(40, pid=2), read(320, 1, flags=R, pid=1))
    assert pages(events) == [1]


@pytest.mark.parametrize("order", [63, 2**64 - 1])
def test_an_absurd_folio_order_is_bounded(order):
    events = table(insert(5, 0), read(100, 1))
    events["value"][0] = np.uint64(order)
    assert find_inserts(events, PAGE, EXT4).pages[0] <= 1 << 20


def test_the_readahead_flag_of_a_read_is_that_of_the_inserts_it_fills():
    """Also with the read of an extent tree in between, and another thread's."""
    ahead = R | int(Rwbs.AHEAD)
    events = table(
        insert(5, 0),
        metadata_insert(40),
        read(320, 1, flags=ahead | int(Rwbs.META)),
        insert(6, 0, pid=2),
        read(800, 1, flags=ahead, pid=2),
        read(100, 1),
        insert(5, 1),
        insert(5, 2),
        read(108, 2, flags=ahead),
        insert(5, 3),
    )
    assert find_inserts(events, PAGE, EXT4).ahead.tolist() == [False, True, True, True, False]
