"""From events and system calls to operations on struct files and mappings."""

import numpy as np
import pytest
from event_table import event, insert
from replayed import (
    ANONYMOUS,
    BASE,
    PAGE,
    PRIVATE,
    PROT_EXEC,
    PROT_READ,
    brought,
    done,
    entry,
    fault,
    made,
    pages,
)

from foreread.analyzer.ingest.tables import Kind
from foreread.emulator.linux.operations import MapFlag, Op
from foreread.tracer.formats.capture import Extent, Segment

FAR, LARGE = 400, 500 * PAGE  # of a page, bytes
PROGRAM = [Segment(0, 3 * PAGE, False, False), Segment(3 * PAGE, 4 * PAGE, True, False)]


def test_a_fault_without_any_mapping_known_is_in_the_whole_file():
    built = made([fault(1, 5), *brought(1, 5)], [entry(1)])
    assert done(built) == [(Op.FAULT, 5, 0)]
    assert built.program.mappings.tolist() == [(0, 0, 100, 0, 0)]
    assert built.notes == ["1 mapped whole, without flags"]


def test_program_headers_say_what_is_executed():
    events = [fault(1, 1), *brought(1, 1), fault(1, 4), *brought(1, 4)]
    built = made(events, [entry(1, segments=PROGRAM)])
    assert [m[1:3] for m in built.program.mappings.tolist()] == [(0, 3), (3, 4)]
    assert built.program.mappings["flags"].tolist() == [0, MapFlag.EXEC]
    assert len(built.program.handles) == 1


def test_one_read_is_reported_page_by_page():
    events = []
    for page in (2, 3, 4):
        events += [*brought(1, page), pages(1, page, 4)]
    events += [*brought(1, 5), pages(1, 5, 5)]
    built = made(events, [entry(1)])
    assert done(built) == [(Op.READ, 2 * PAGE, 3 * PAGE), (Op.READ, 5 * PAGE, PAGE)]


def opened(*rows):
    return {"syscalls:sys_exit_openat": list(rows)}


def test_reads_of_a_descriptor_go_on_where_the_last_one_ended():
    events = [*brought(1, 0, time_ns=2000), pages(1, 0, 0, time_ns=2100)]
    events += [pages(1, 0, 1, time_ns=3000), *brought(1, 1, time_ns=3100)]
    calls = opened((1500, 1, 3))
    calls["syscalls:sys_enter_read"] = [(1900, 1, 3, 1000), (2900, 1, 3, 5000)]
    built = made(events, [entry(1)], calls)
    assert done(built) == [(Op.READ, 0, 1000), (Op.READ, 1000, 5000)]
    assert built.program.operations["handle"].tolist() == [0, 0]


def test_a_descriptor_that_was_opened_again_is_another_struct_file():
    events = [*brought(1, 0, time_ns=2000), pages(1, 0, 0, time_ns=2100)]
    events += [pages(1, 0, 0, time_ns=4000)]
    calls = opened((1500, 1, 3), (3000, 1, 3))
    calls["syscalls:sys_enter_read"] = [(1900, 1, 3, 10), (3900, 1, 3, 10)]
    built = made(events, [entry(1)], calls)
    assert built.program.operations["handle"].tolist() == [0, 1]


def test_a_library_is_mapped_in_pieces_on_the_struct_file_that_was_read():
    """As a dynamic loader does: read the header, map it all, put code over it, end with bss."""
    events = [*brought(1, 0, time_ns=2000), pages(1, 0, 0, time_ns=2100)]
    for time, page in ((8000, 1), (8100, 6), (8200, 9)):
        events += [fault(1, page, time_ns=time), *brought(1, page, time_ns=time + 1)]
    calls = opened((1500, 1, 3))
    calls["syscalls:sys_enter_read"] = [(1900, 1, 3, 832)]
    calls["syscalls:sys_enter_mmap"] = [
        (5000, 1, 10 * PAGE, PROT_READ, PRIVATE, 3, 0),
        (5100, 1, 4 * PAGE, PROT_READ | PROT_EXEC, PRIVATE, 3, 4 * PAGE),
        (5200, 1, PAGE, PROT_READ, PRIVATE | ANONYMOUS, (1 << 64) - 1, 0),
    ]
    at = [BASE, BASE + 4 * PAGE, BASE + 8 * PAGE]
    calls["syscalls:sys_exit_mmap"] = [(5050 + 100 * i, 1, a) for i, a in enumerate(at)]
    built = made(events, [entry(1)], calls)
    first = BASE // PAGE
    assert built.program.mappings.tolist() == [
        (0, 0, 4, first, 0),
        (0, 4, 4, first + 4, MapFlag.EXEC),
        (0, 9, 1, first + 9, 0),
    ]
    assert built.notes == []


def test_a_file_that_was_never_read_is_known_by_its_first_fault():
    events = [fault(1, 6, time_ns=8000), *brought(1, 6, time_ns=8001)]
    calls = opened((1500, 1, 3))
    calls["syscalls:sys_enter_mmap"] = [(5000, 1, 5 * PAGE, PROT_READ, 1, 3, 4 * PAGE)]
    calls["syscalls:sys_exit_mmap"] = [(5050, 1, BASE)]
    calls["syscalls:sys_enter_madvise"] = [(5060, 1, BASE, 5 * PAGE, 1)]
    built = made(events, [entry(1)], calls)
    flags = MapFlag.SHARED | MapFlag.RANDOM
    assert built.program.mappings.tolist() == [(0, 4, 5, BASE // PAGE, flags)]


def test_files_read_by_exec_are_mapped_by_the_new_program():
    events = [event(Kind.FORK, value=2), *brought(1, 0, pid=2), pages(1, 0, 0, pid=2)]
    events += [event(Kind.EXEC, pid=2, value=2), fault(1, 4, pid=2), *brought(1, 4, pid=2)]
    built = made(events, [entry(1, segments=PROGRAM)])
    assert [op for op, *_ in done(built)] == [Op.READ, Op.FAULT]
    assert built.program.handles.tolist() == [0]


def test_advice_becomes_an_operation():
    events = [*brought(1, 0, time_ns=2000), pages(1, 0, 0, time_ns=2100)]
    events += brought(1, 50, time_ns=3100)
    calls = opened((1500, 1, 3))
    calls["syscalls:sys_enter_read"] = [(1900, 1, 3, 100)]
    calls["syscalls:sys_enter_fadvise64"] = [(2500, 1, 3, 0, 0, 2), (3000, 1, 3, 50 * PAGE, 1, 3)]
    built = made(events, [entry(1)], calls)
    assert done(built)[1:] == [(Op.SEQUENTIAL, 0, 0), (Op.WILLNEED, 50, 1)]


def test_a_page_that_came_in_an_unknown_way_is_read_singly():
    built = made([fault(1, 3), *brought(1, 3), *brought(1, 7)], [entry(1)])
    assert done(built)[1:] == [(Op.SINGLE, 7, 1)]
    assert "1 read page by page, the kind of access is unknown" in built.notes


def test_written_pages_are_there_and_holes_are_read_without_requests():
    """Pages beside one that is read may be of its compressed block."""
    events = [insert(1, 3), fault(1, 9), insert(1, 9), fault(1, FAR), *brought(1, FAR)]
    built = made(events, [entry(1, LARGE)])
    assert done(built) == [(Op.PRESENT, 3, 1), (Op.FAULT, 9, 0), (Op.FAULT, FAR, 0)]
    assert built.holes == [(0, 9)]


def test_pages_never_inserted_were_there_before():
    events = [fault(1, 4), *brought(1, 4), fault(1, 5)]
    built = made(events, [entry(1)])
    assert done(built)[0] == (Op.PRESENT, 5, 1)


def test_pages_of_others_are_there_from_then_on():
    events = [*brought(1, 1, pid=9), fault(1, 2), *brought(1, 2)]
    built = made(events, [entry(1)], threads=frozenset({1}))
    assert done(built) == [(Op.PRESENT, 1, 1), (Op.FAULT, 2, 0)]


WHOLE_PROGRAM = [Segment(0, LARGE, True, False)]


@pytest.mark.parametrize(
    ("segments", "op", "unit"), [([], Op.READ, PAGE), (WHOLE_PROGRAM, Op.FAULT, 1)]
)
def test_extents_tell_a_written_page_from_a_hole_which_is_touched_as_others_are(segments, op, unit):
    file = entry(1, LARGE, extents=[Extent(0, 1 << 20, 4 * PAGE, True)], segments=segments)
    built = made([insert(1, 3), insert(1, 8), *brought(1, FAR)], [file])
    assert [(op, at) for op, at, _ in done(built)] == [
        (Op.PRESENT, 3),
        (op, 8 * unit),
        (op, FAR * unit),
    ]


@pytest.mark.parametrize("value", [0, 1 << 62, (1 << 64) - 1])
def test_invalid_system_call_arguments_are_ignored(value):
    events = [fault(1, 4, time_ns=9000), *brought(1, 4, time_ns=9001)]
    calls = opened((1, 1, min(value, 1 << 62)))
    numbers = np.array([value], np.uint64)
    for name, count in (("read", 2), ("pread64", 3), ("mmap", 5), ("mprotect", 3), ("madvise", 3)):
        calls[f"syscalls:sys_enter_{name}"] = [(5, 1, *[int(numbers[0])] * count)]
    calls["syscalls:sys_exit_mmap"] = [(6, 1, min(value, 1 << 62))]
    calls["syscalls:sys_enter_fadvise64"] = [(7, 1, *[int(numbers[0])] * 4)]
    assert done(made(events, [entry(1)], calls))[-1] == (Op.FAULT, 4, 0)


def test_pages_mapped_without_a_read_were_cached_before():
    """Pages 16-31 were mapped, 20 was read later: the others were there before the run."""
    events = [
        event(Kind.MAP_PAGES, ino=5, index=16, value=31),
        fault(5, 20),
        *brought(5, 20),
        event(Kind.MAP_PAGES, ino=5, index=20, value=47),
    ]
    built = made(events, [entry(5)])
    present = [(at, pages) for op, at, pages in done(built) if op == Op.PRESENT]
    assert present == [(16, 4), (21, 11)]
    assert [op for op, _, _ in done(built)].count(Op.FAULT) == 1
    assert built.times.tolist() == [0, 0, 2000]


def test_pages_that_the_recording_says_were_cached_are_there_from_the_start():
    events = [fault(1, 20), *brought(1, 20)]
    built = made(events, [entry(1, cached_pages=[(3, 2), (20, 1), (99, 5)])])
    assert done(built) == [
        (Op.PRESENT, 3, 2),
        (Op.PRESENT, 99, 1),
        (Op.FAULT, 20, 0),
    ]


def test_no_pages_are_inferred_for_files_with_known_residency():
    around = event(Kind.MAP_PAGES, ino=1, index=16, value=31)
    events = [fault(1, 50), *brought(1, 50), around]
    assert done(made(events, [entry(1)])) == [(Op.PRESENT, 16, 16), (Op.FAULT, 50, 0)]
    assert done(made(events, [entry(1, cached_pages=[])])) == [(Op.FAULT, 50, 0)]
