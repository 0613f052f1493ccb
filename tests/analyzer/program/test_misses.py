"""Reads and faults distinguished by the readahead flag of block reads, or by the kind of file."""

import numpy as np
import pytest
from capture_builder import ROOT_PID, capture_of
from event_table import R, event, insert, read, table
from msgspec import structs

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import Kind, Rwbs
from foreread.analyzer.program.build import build
from foreread.analyzer.program.misses import BY_FLAG, BY_KIND, BY_UNKNOWN_CALLS, Way
from foreread.analyzer.reference.missed import Missed
from foreread.emulator.linux.operations import FILE, MapFlag, Op
from foreread.tracer.formats.capture import FileEntry, Mount, Segment

PAGE = 4096
AHEAD = R | int(Rwbs.AHEAD)
PROGRAM = [Segment(0, 3 * PAGE, False, False), Segment(3 * PAGE, 4 * PAGE, True, False)]


def in_at(time_ns, ino, page, flags=AHEAD, pid=ROOT_PID):
    """A page that is inserted and read; by a fault with flags=R."""
    return [
        insert(ino, page, pid=pid, time_ns=time_ns),
        read(page * 8, 1, flags=flags, pid=pid, time_ns=time_ns + 1),
    ]


def entry(ino, pages=100, **more):
    return FileEntry(dev="7:0", ino=ino, path=f"/file{ino}", size_bytes=pages * PAGE, **more)


def made(events, entries, calls=None, kernel="6.1.0", fstype="ext4"):
    """Return what is built from events, and from system calls {name: [(time, ...)]}."""
    calls = {f"syscalls:{name}": rows for name, rows in (calls or {}).items()}

    def fields(name, names):
        rows = [(time, ROOT_PID, *values) for time, *values in calls[name]]
        columns = dict(zip(("time_ns", "pid", *names), zip(*rows, strict=True), strict=True))
        return {key: np.array(value) for key, value in columns.items()}

    host = structs.replace(capture_of().host, kernel=kernel)
    mount = Mount(dev="7:0", mountpoint="/", fstype=fstype, source="", options="")
    capture = capture_of(host=host, mounts=[mount])
    trace = Trace(
        "test",
        table(*events),
        event_names=frozenset(calls),
        read_fields=fields if calls else None,
    )
    recording = interpret(trace, capture, list(entries), "tree")
    files = np.zeros(recording.files.rows, FILE)
    files["size"], files["window"] = recording.files["size_bytes"], -1
    return build(recording, files)


def done(built):
    return [(Op(op), at, length) for op, _, _, at, length in built.program.operations.tolist()]


def test_the_flag_distinguishes_reads_from_faults_and_calls_give_the_length():
    events = [*in_at(1000, 1, 0), *in_at(3000, 1, 4, flags=R)]
    calls = {"sys_exit_openat": [(500, 3)], "sys_enter_read": [(900, 3, 832)]}
    built = made(events, [entry(1, segments=PROGRAM)], calls)
    assert done(built) == [(Op.READ, 0, 832), (Op.FAULT, 4, 0)]
    assert built.program.mappings.tolist() == [(0, 3, 4, 3, MapFlag.EXEC)]
    assert built.notes == [f"2 {BY_FLAG}", "1 mapped as in their program headers"]


def test_an_unrecorded_mapping_shares_the_struct_file_that_was_read():
    events = [*in_at(1000, 1, 0), *in_at(3000, 1, 4, flags=R)]
    calls = {
        "sys_exit_openat": [(500, 3), (2000, 3)],
        "sys_enter_read": [(900, 3, 832)],
    }
    built = made(events, [entry(1, segments=PROGRAM)], calls)
    assert built.program.handles.tolist() == [0]


def test_the_pages_that_one_call_missed_are_one_read():
    """Page 2 was cached; the struct file stands where the last read ended."""
    events = [*in_at(1000, 1, 0)]
    events += [page for i, at in enumerate((1, 3)) for page in in_at(2000 + 10 * i, 1, at)]
    events += [*in_at(3000, 1, 50)]
    reads = [(900, 3, 100), (1900, 3, 4 * PAGE - 200), (2900, 3, PAGE)]
    built = made(events, [entry(1)], {"sys_exit_openat": [(500, 3)], "sys_enter_read": reads})
    assert done(built) == [
        (Op.PRESENT, 2, 1),
        (Op.READ, 0, 100),
        (Op.READ, 100, 4 * PAGE - 200),
        (Op.READ, 50 * PAGE, PAGE),
    ]


def test_reads_by_exec_do_not_belong_to_the_last_call():
    events = [*in_at(1000, 1, 0), event(Kind.EXEC, pid=ROOT_PID, value=ROOT_PID, time_ns=2000)]
    built = made(events, [entry(1)], {"sys_enter_read": [(900, 0, 1)]})
    assert done(built) == [(Op.READ, 0, PAGE)]
    assert f"1 {BY_UNKNOWN_CALLS}" in built.notes


def test_several_pages_at_once_with_the_flag_are_advice():
    events = [insert(1, page, pid=ROOT_PID) for page in (4, 5, 6)]
    events += [read(32, 3, flags=AHEAD, pid=ROOT_PID)]
    assert done(made(events, [entry(1)])) == [(Op.WILLNEED, 4, 3)]


def test_without_calls_a_small_file_is_read_whole_and_a_larger_one_by_the_page():
    events = [page for at in range(3) for page in in_at(1000 + 10 * at, 1, at)]
    events += [page for at in range(40) for page in in_at(2000 + 10 * at, 2, at)]
    found = done(made(events, [entry(1, 3), entry(2, 40)]))
    assert found[0] == (Op.READ, 0, 3 * PAGE)
    assert found[1:] == [(Op.READ, at * PAGE, PAGE) for at in range(40)]


@pytest.mark.parametrize("kernel,fstype", [("5.4.0", "ext4"), ("6.1.0", "btrfs"), ("own", "ext4")])
def test_without_flags_the_kind_of_file_decides(kernel, fstype):
    events = [*in_at(1000, 5, 4), *in_at(2000, 6, 7, flags=R)]
    built = made(events, [entry(5, segments=PROGRAM), entry(6)], kernel=kernel, fstype=fstype)
    assert done(built) == [(Op.FAULT, 4, 0), (Op.READ, 7 * PAGE, PAGE)]
    assert f"2 {BY_KIND}" in built.notes


def test_without_flags_the_call_in_progress_decides():
    """A loader reads the header of a library and faults on it after mapping it."""
    events = [*in_at(1000, 1, 0, flags=R), *in_at(3000, 1, 4, flags=R)]
    calls = {
        "sys_exit_openat": [(500, 3)],
        "sys_enter_read": [(900, 3, 832)],
        "sys_enter_mprotect": [(2000, 0, 0, 0)],
    }
    built = made(events, [entry(1, segments=PROGRAM)], calls, kernel="5.4.0")
    assert done(built) == [(Op.READ, 0, 832), (Op.FAULT, 4, 0)]


def test_the_first_page_of_a_squashfs_block_was_touched():
    events = [insert(1, page, pid=ROOT_PID) for page in (4, 0, 1, 2, 3, 5)]
    built = made([*events, read(1000, 6, pid=ROOT_PID)], [entry(1)], fstype="squashfs")
    assert done(built) == [(Op.READ, 4 * PAGE, PAGE)]


def test_events_of_accesses_are_believed_before_the_flag():
    events = [
        event(Kind.FAULT, pid=ROOT_PID, ino=1, index=4, time_ns=900),
        *in_at(1000, 1, 4),
        *in_at(2000, 1, 9),
    ]
    assert done(made(events, [entry(1)])) == [(Op.FAULT, 4, 0), (Op.SINGLE, 9, 1)]


def test_a_read_holds_all_that_it_missed_wherever_the_struct_file_stood():
    missed = Missed(0, 10, 11, Way.READ)
    assert missed.around(9 * PAGE, 3 * PAGE, PAGE) == (9 * PAGE, 3 * PAGE)
    assert missed.around(0, PAGE, PAGE) == (10 * PAGE + 1, PAGE)
    assert missed.around(0, 10, PAGE) == (11 * PAGE - 9, 10)


def test_pages_too_far_apart_for_one_call_were_not_missed_by_it():
    """Before 5.10: a loader that read 832 bytes faults on the library without another call."""
    events = [page for i, at in enumerate((0, 4, 5)) for page in in_at(1000 + i * 10, 1, at)]
    calls = {"sys_exit_openat": [(500, 3)], "sys_enter_read": [(900, 3, 832)]}
    built = made(events, [entry(1, segments=PROGRAM)], calls, kernel="5.4.0")
    assert done(built) == [(Op.READ, 0, 832), (Op.FAULT, 4, 0), (Op.FAULT, 5, 0)]
