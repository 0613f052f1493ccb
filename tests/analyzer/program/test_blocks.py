"""Blocks of squashfs from a recording: their places, their cost, and the touched pages."""

import numpy as np
import pytest
from capture_builder import ROOT_PID, capture_of
from event_table import BLOCKS, event, insert, read, switch, table
from msgspec import structs

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import Kind
from foreread.analyzer.predict.inputs import inputs
from foreread.analyzer.predict.linux import on_disk
from foreread.analyzer.program.blocks import blocks_of
from foreread.analyzer.program.build import build
from foreread.emulator.linux.operations import FILE, Op
from foreread.tracer.formats.capture import FileEntry, Mount, Segment

PAGE = 4096
BLOCK = 32  # pages
SECTORS = 256  # of the file in a block
PROGRAM = [Segment(0, 1 << 30, True, False)]


def recorded(*events, pages=200, segments=PROGRAM, links=()):
    host = structs.replace(capture_of().host, kernel="6.1.0")
    mount = Mount(dev="7:0", mountpoint="/", fstype="squashfs", source="", options="ro")
    entry = FileEntry(dev="7:0", ino=5, path="/f", size_bytes=pages * PAGE, segments=segments)
    capture = capture_of(host=host, mounts=[mount])
    linked = [FileEntry(dev="7:0", ino=i, path="/l", size_bytes=9, link=True) for i in links]
    return interpret(Trace("test", table(*events)), capture, [entry, *linked], "tree")


def block_read(number, sector, sectors, touched=0, begin_ns=0):
    """A page of a block is touched: its pages are inserted, it is read and unpacked."""
    first = number * BLOCK
    rest = [page for page in range(first, first + BLOCK) if page != first + touched]
    inserts = [
        insert(5, page, pid=ROOT_PID, time_ns=begin_ns + 1000 * at)
        for at, page in enumerate([first + touched, *rest])
    ]
    more = {"value": sectors, "pid": ROOT_PID, "flags": 1}
    return [
        *inserts,
        event(Kind.BIO_QUEUE, index=sector, **more, time_ns=begin_ns + 40_000),
        event(Kind.RQ_ISSUE, index=sector, **more, time_ns=begin_ns + 50_000),
        event(Kind.RQ_COMPLETE, index=sector, **more, time_ns=begin_ns + 900_000),
    ]


def rows(recording):
    return blocks_of(recording, np.full(recording.files.rows, BLOCK)).rows


def test_blocks_are_where_they_were_read():
    found = rows(recorded(*block_read(0, 1000, 90), *block_read(1, 1090, 70, begin_ns=2_000_000)))
    assert found[:2] == [(0, 0, 1000, 90, 1), (0, SECTORS, 1090, 70, 1)]


def metadata_read(sector, begin_ns):
    """A block of metadata is read: its length, in a sector or two, and then the block."""
    more = {"index": sector, "pid": ROOT_PID, "flags": 1}
    return [
        event(Kind.BIO_QUEUE, value=2, time_ns=begin_ns, **more),
        event(Kind.BIO_QUEUE, value=8, time_ns=begin_ns + 1000, **more),
    ]


def test_reads_of_metadata_are_not_those_of_a_block():
    # The first block comes from a fragment that is unpacked already; then the list of blocks of
    # the file is read, between the touched page of the second one and its other pages.
    first, second = block_read(0, 0, 0)[:BLOCK], block_read(1, 1090, 70, begin_ns=3_000_000)
    listed = metadata_read(5000, 3_000_100)
    later = metadata_read(4000, 2_000_000)
    found = blocks_of(recorded(*first, *later, second[0], *listed, *second[1:]), np.array([BLOCK]))
    assert found.rows[:2] == [(0, 0, 1020, 70, 0), (0, SECTORS, 1090, 70, 1)]
    assert found.bios.tolist() == [[1090, 1160]]
    parts = np.array([1089, 1090, 1150, 1152, 1158, 1160], np.uint64)
    assert found.reads(parts).tolist() == [False, True, True, False, False, False]


@pytest.mark.parametrize("second", [1088, 1090])
def test_blocks_that_one_readahead_call_reads_have_a_bio_each(second):
    """A window that ends at the border of a block is extended by the next one (6.18)."""
    first, begin = block_read(0, 1000, 90, touched=BLOCK - 1), block_read(1, second, 70)
    (*pages, bio, issue, done), (*more, queued, issued, completed) = first, begin
    found = rows(recorded(*pages, *more, bio, issue, done, queued, issued, completed))
    assert found[:2] == [(0, 0, 1000, 90, 1), (0, SECTORS, second, 70, 1)]


def test_a_short_read_of_data_before_another_place_is_not_metadata():
    short, next_one = block_read(6, 1000, 2), block_read(0, 1002, 90, begin_ns=2_000_000)
    found = blocks_of(recorded(*short, *next_one), np.array([BLOCK]))
    assert found.bios.tolist() == [[1000, 1002], [1002, 1092]]


def test_a_block_that_is_read_again_at_once_is_not_metadata():
    again = block_read(0, 1000, 90, begin_ns=2_000_000)[-3:]
    found = blocks_of(recorded(*block_read(0, 1000, 90), *again), np.array([BLOCK]))
    assert found.rows[0] == (0, 0, 1000, 90, 1)


def test_a_symbolic_link_is_a_page_that_is_read_with_its_inode():
    link = insert(8, 0, pid=ROOT_PID, time_ns=1)
    taken = inputs(recorded(link, *block_read(0, 1000, 90, begin_ns=5000), links=[8]), (6, 1, 0))
    at = [(Op(op), file) for op, file, *_ in taken.program.operations.tolist()]
    assert at[0] == (Op.SINGLE, 1)
    counts = on_disk(taken, (6, 1, 0), 0).counts([0])
    assert (counts.requests.tolist(), counts.pages.tolist()) == ([[1]], [[BLOCK]])  # not the link's


def test_unread_blocks_are_interpolated_between_read_ones():
    found = rows(
        recorded(*block_read(0, 1000, 100), *block_read(3, 1240, 60, begin_ns=2_000_000), pages=128)
    )
    assert found == [
        (0, 0, 1000, 100, 1),
        (0, SECTORS, 1100, 70, 1),
        (0, 2 * SECTORS, 1170, 70, 1),
        (0, 3 * SECTORS, 1240, 60, 1),
    ]


def test_blocks_before_and_after_are_packed_as_the_others():
    found = rows(recorded(*block_read(1, 1000, 64), pages=80))
    assert found == [
        (0, 0, 936, 64, 1),
        (0, SECTORS, 1000, 64, 1),
        (0, 2 * SECTORS, 1064, 32, 1),
    ]


def test_metadata_read_for_a_block_is_not_part_of_it():
    touched, *others = block_read(0, 1000, 90)
    before = read(7, 1, pid=ROOT_PID, time_ns=500)
    behind = read(9, 1, pid=ROOT_PID, time_ns=950_000)
    recording = recorded(touched, before, *others, behind, pages=32)
    found = blocks_of(recording, np.array([BLOCK]))
    assert found.rows == [(0, 0, 1000, 90, 1)]
    assert found.reads(np.array([7, 1000, 9], np.uint64)).tolist() == [False, True, False]


def test_unpacking_cost_is_taken_from_the_shortest_gaps():
    events = [*block_read(0, 1000, 90), *block_read(1, 1090, 70, begin_ns=2_500_000)]
    events += block_read(2, 1160, 70, begin_ns=9_000_000)
    found = blocks_of(recorded(*events, pages=96), np.array([BLOCK]))
    unpacking = [(2_500_000 - 900_000) / BLOCK, (9_000_000 - 3_400_000) / BLOCK]
    assert found.cpu.page_ns == np.percentile(unpacking, 25) + 40_000 / BLOCK


def test_a_thread_does_not_unpack_while_others_run():
    other = ROOT_PID + 7
    switches = [
        switch(60_000, ROOT_PID, other, BLOCKS),
        switch(1_000_000, other, ROOT_PID),
        switch(1_100_000, ROOT_PID, other),
        switch(2_400_000, other, ROOT_PID),
    ]
    first = switch(0, other, ROOT_PID)
    events = [
        first,
        *block_read(0, 1000, 90),
        *switches,
        *block_read(1, 1090, 70, begin_ns=2_500_000),
    ]
    found = blocks_of(recorded(*events, pages=64), np.array([BLOCK]))
    assert found.cpu.page_ns == (200_000 + 40_000) / BLOCK


def test_unpacking_costs_more_for_a_larger_compressed_block():
    """3 µs a page and 2 µs a compressed sector, once with other work after the read."""
    sizes = [40, 200, 60, 180, 80, 160, 100, 140, 50, 190]
    events, sector, begin = [], 1000, 0
    for number, sectors in enumerate(sizes):
        events += block_read(number, sector, sectors, begin_ns=begin)
        late = 50_000_000 if number == 4 else 0
        begin += 900_000 + 3000 * BLOCK + 2000 * sectors + late
        sector += sectors
    events += block_read(len(sizes), sector, 70, begin_ns=begin)
    found = blocks_of(recorded(*events, pages=11 * BLOCK), np.array([BLOCK])).cpu
    assert found.sector_ns == pytest.approx(2000)
    assert found.page_ns == pytest.approx(3000 + 40_000 / BLOCK)


def test_a_file_without_read_blocks_has_no_place():
    assert rows(recorded(insert(5, 0, pid=ROOT_PID), pages=3)) == []
    other = read(9, 1, pid=ROOT_PID + 1)  # reads were recorded, and its pages had none
    assert rows(recorded(insert(5, 0, pid=ROOT_PID), other, pages=3)) == [(0, 0, 0, 1, 0)]


def test_a_block_that_was_filled_without_a_read_is_read_from_no_disk():
    # The last pieces of files are in fragments, of which squashfs keeps three unpacked.
    tail = [insert(5, 64 + at, pid=ROOT_PID, time_ns=2_000_000 + at) for at in range(3)]
    recording = recorded(*block_read(0, 1000, 90), *block_read(1, 1090, 90, begin_ns=1_000_000))
    assert rows(recording)[2][4] == 1  # not seen: interpolated
    recording = recorded(
        *block_read(0, 1000, 90), *block_read(1, 1090, 90, begin_ns=950_000), *tail, pages=67
    )
    assert [(at, read) for _, at, _, _, read in rows(recording)] == [(0, 1), (256, 1), (512, 0)]
    counts = on_disk(inputs(recording, (6, 1, 0)), (6, 1, 0), 0).counts([0])
    assert (counts.requests.tolist(), counts.pages.tolist()) == ([[2]], [[67]])


def test_only_the_page_that_was_touched_is_an_access():
    recording = recorded(
        *block_read(0, 1000, 90, touched=7), *block_read(2, 1200, 70, 3, begin_ns=2_000_000)
    )
    files = np.zeros(recording.files.rows, FILE)
    files["size"], files["window"] = recording.files["size_bytes"], -1
    files["block_pages"] = BLOCK
    operations = build(recording, files).program.operations.tolist()
    assert [(Op(op), at) for op, _, _, at, _ in operations] == [(Op.FAULT, 7), (Op.FAULT, 67)]
