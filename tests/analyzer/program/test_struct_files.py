"""Struct files and mappings through dup, fork and exec; faults that write; early advice."""

import pytest
from event_table import event, insert, read
from replayed import BASE, PAGE, PRIVATE, PROT_READ, brought, done, entry, fault, made, pages

from foreread.analyzer.ingest.tables import Kind
from foreread.emulator.linux.operations import Op
from foreread.tracer.formats.capture import Segment

CLONE_VM, CLONE_FILES, CLOEXEC = 0x100, 0x400, 0o2000000
AROUND = [event(Kind.MAP_PAGES, ino=9, index=0, value=0)]  # the kernel has such events


def opened(time, descriptor, flags=0, pid=1):
    return {
        "syscalls:sys_enter_openat": [(time, pid, flags)],
        "syscalls:sys_exit_openat": [(time + 1, pid, descriptor)],
    }


def one_read(time, page, pid=1):
    """A page that a read(2) misses."""
    return [
        *brought(1, page, time_ns=time, pid=pid),
        pages(1, page, page, time_ns=time + 1, pid=pid),
    ]


def handles(built):
    return built.program.operations["handle"].tolist()


def reads_of(*rows):
    """Reads at (time, thread, descriptor)."""
    return {"syscalls:sys_enter_read": [(time - 10, pid, fd, PAGE) for time, pid, fd in rows]}


@pytest.mark.parametrize(
    "calls",
    [
        {"sys_enter_dup": [(2100, 1, 3)], "sys_exit_dup": [(2101, 1, 7)]},
        {"sys_enter_dup2": [(2100, 1, 3, 7)]},
        {"sys_enter_dup3": [(2100, 1, 3, 7, CLOEXEC)]},
        {"sys_enter_fcntl": [(2100, 1, 3, 0, 5)], "sys_exit_fcntl": [(2101, 1, 7)]},
        {"sys_enter_fcntl": [(2100, 1, 3, 1030, 5)], "sys_exit_fcntl": [(2101, 1, 7)]},
    ],
)
def test_a_duplicate_is_the_same_struct_file(calls):
    calls = {f"syscalls:{name}": rows for name, rows in calls.items()}
    events = [*one_read(2000, 0), *one_read(3000, 1)]
    built = made(events, [entry(1)], opened(1500, 3) | calls | reads_of((2000, 1, 3), (3000, 1, 7)))
    assert handles(built) == [0, 0]


@pytest.mark.parametrize(
    "calls", [{"sys_enter_close": [(2100, 1, 3)]}, {"sys_enter_close_range": [(2100, 1, 3, 9, 0)]}]
)
def test_closed_descriptors_are_removed(calls):
    calls = {f"syscalls:{name}": rows for name, rows in calls.items()}
    calls["syscalls:sys_enter_dup2"] = [(1, 1, 98, 99)]  # they have events
    events = [*one_read(2000, 0), *one_read(3000, 1)]
    built = made(events, [entry(1)], opened(1500, 3) | calls | reads_of((2000, 1, 3), (3000, 1, 3)))
    assert handles(built) == [0, 1]


def forked(flags):
    """A child (thread 2) opens another struct file at a number that its parent uses."""
    events = [*one_read(2000, 0), event(Kind.FORK, value=2, time_ns=2500)]
    events += [*one_read(3000, 1, pid=2), *one_read(4000, 2)]
    calls = opened(1500, 3) | reads_of((2000, 1, 3), (3000, 2, 3), (4000, 1, 3))
    calls["syscalls:sys_exit_openat"].append((2900, 2, 3))
    if flags is not None:
        calls["task:task_newtask"] = [(2499, 1, 2, flags)]
    return handles(made(events, [entry(1)], calls))


def test_a_thread_shares_descriptors_and_a_process_has_copies():
    assert forked(CLONE_VM | CLONE_FILES) == [0, 1, 1]
    assert forked(CLONE_VM) == [0, 1, 0]
    assert forked(0) == [0, 1, 0]
    assert forked(None) == [0, 1, 1]  # unknown: as a thread


def test_a_process_has_the_mappings_of_its_parent_on_the_same_struct_file():
    events = [*one_read(2000, 0), event(Kind.FORK, value=2, time_ns=6000)]
    events += [fault(1, 5, time_ns=7000, pid=2), *brought(1, 5, time_ns=7001, pid=2)]
    calls = opened(1500, 3) | reads_of((2000, 1, 3))
    calls |= mapped(5000) | {"task:task_newtask": [(5999, 1, 2, 0)]}
    calls["syscalls:sys_enter_munmap"] = [(6500, 1, BASE, 9 * PAGE)]
    built = made(events, [entry(1)], calls)
    assert built.program.mappings.tolist() == [(0, 0, 9, BASE // PAGE, 0)]
    assert built.notes == []


def mapped(time):
    return {
        "syscalls:sys_enter_mmap": [(time, 1, 9 * PAGE, PROT_READ, PRIVATE, 3, 0)],
        "syscalls:sys_exit_mmap": [(time + 1, 1, BASE)],
    }


def test_unmapped_areas_are_not_used_for_faults():
    events = [*one_read(2000, 0), fault(1, 5, time_ns=7000), *brought(1, 5, time_ns=7001)]
    calls = opened(1500, 3) | reads_of((2000, 1, 3)) | mapped(5000)
    calls["syscalls:sys_enter_munmap"] = [(6000, 1, BASE + 4 * PAGE, 5 * PAGE)]
    assert made(events, [entry(1)], calls).notes == ["1 mapped whole, without flags"]


def test_a_mapping_that_moves_and_grows_is_found_where_it_is():
    events = [*one_read(2000, 0), fault(1, 12, time_ns=7000), *brought(1, 12, time_ns=7001)]
    calls = opened(1500, 3) | reads_of((2000, 1, 3)) | mapped(5000)
    calls["syscalls:sys_enter_mremap"] = [(6000, 1, BASE, 9 * PAGE, 20 * PAGE)]
    calls["syscalls:sys_exit_mremap"] = [(6001, 1, BASE + 100 * PAGE)]
    built = made(events, [entry(1)], calls)
    assert built.program.mappings.tolist() == [(0, 0, 20, BASE // PAGE + 100, 0)]


@pytest.mark.parametrize(("flags", "expected"), [(0, [0, 0]), (CLOEXEC, [0, 1])])
def test_a_new_program_inherits_what_exec_does_not_close(flags, expected):
    events = [*one_read(2000, 0), event(Kind.EXEC, value=1, time_ns=2500), *one_read(3000, 1)]
    calls = opened(1500, 3, flags) | reads_of((2000, 1, 3), (3000, 1, 3))
    calls["syscalls:sys_enter_mprotect"] = [(2400, 1, 0, 0, 0)]  # in between: exec reads, too
    calls["syscalls:sys_enter_dup2"] = [(1, 1, 98, 99)]  # they have events
    assert handles(made(events, [entry(1)], calls)) == expected


def test_faults_of_exec_do_not_use_mappings_of_the_old_program():
    events = [*brought(2, 0, time_ns=6000), pages(2, 0, 0, time_ns=6001)]
    events += [fault(2, 5, time_ns=6100), *brought(2, 5, time_ns=6101)]
    events += [event(Kind.EXEC, value=1, time_ns=6200)]
    program = entry(2, segments=[Segment(0, 9 * PAGE, True, False)])
    built = made(events, [program], opened(1500, 3) | mapped(5000))  # of which no page is seen
    assert built.program.handles.tolist() == [0]


def test_fcntl_says_what_exec_closes():
    events = [*one_read(2000, 0), event(Kind.EXEC, value=1, time_ns=2500), *one_read(3000, 1)]
    calls = opened(1500, 3, CLOEXEC) | reads_of((2000, 1, 3), (3000, 1, 3))
    calls["syscalls:sys_enter_fcntl"] = [(2100, 1, 3, 2, 0)]
    assert handles(made(events, [entry(1)], calls)) == [0, 0]


def test_seeking_moves_the_position():
    events = [*one_read(2000, 0), *one_read(3000, 50)]
    calls = opened(1500, 3) | reads_of((2000, 1, 3))
    calls["syscalls:sys_enter_read"].append((2990, 1, 3, 100))
    calls["syscalls:sys_enter_lseek"] = [(2500, 1, 3)]
    calls["syscalls:sys_exit_lseek"] = [(2501, 1, 50 * PAGE + 70)]
    built = made(events, [entry(1)], calls)
    assert done(built)[1] == (Op.READ, 50 * PAGE + 70, 100)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("sendfile64", (3, 0, 1 << 20)),
        ("splice", (3, 0x7FFF_0000, 1 << 20)),
        ("copy_file_range", (3, 0, 1 << 20)),
    ],
)
def test_all_parts_of_a_sendfile_are_of_one_struct_file(name, arguments):
    events = [*one_read(2000, 0), *one_read(3000, 16), *one_read(3100, 32)]
    calls = opened(1500, 3) | reads_of((2000, 1, 3))
    calls[f"syscalls:sys_enter_{name}"] = [(2900, 1, *arguments)]
    assert handles(made(events, [entry(1)], calls)) == [0, 0, 0]


@pytest.mark.parametrize(("name", "arguments"), [("readv", (3,)), ("preadv", (3, 5 * PAGE))])
def test_reads_into_several_buffers_are_of_their_struct_file(name, arguments):
    events = [*one_read(2000, 0), *one_read(3000, 5)]
    calls = opened(1500, 3) | reads_of((2000, 1, 3))
    calls[f"syscalls:sys_enter_{name}"] = [(2900, 1, *arguments)]
    built = made(events, [entry(1)], calls)
    assert handles(built) == [0, 0]
    assert done(built)[1] == (Op.READ, 5 * PAGE, PAGE)


def test_a_fault_that_is_done_again_after_its_read_writes():
    events = [*AROUND, fault(1, 5), *brought(1, 5), fault(1, 5)]
    assert done(made(events, [entry(1)]))[-1] == (Op.FAULT, 5, 1)


def test_a_fault_that_is_mapped_around_after_its_read_reads():
    around = event(Kind.MAP_PAGES, ino=1, index=0, value=15)
    events = [fault(1, 5), *brought(1, 5), around, fault(1, 6), *brought(1, 6), around]
    assert done(made(events, [entry(1)])) == [(Op.FAULT, 5, 0), (Op.FAULT, 6, 0)]


def test_a_fault_on_a_page_that_is_there_writes_unless_another_thread_reads_it_in():
    present = [*AROUND, *one_read(1000, 5), fault(1, 5, time_ns=2000), fault(1, 8, time_ns=2100)]
    assert done(made([*present, *brought(1, 8, time_ns=2101)], [entry(1)]))[1] == (Op.FAULT, 5, 1)
    both = [*AROUND, fault(1, 5), *brought(1, 5), fault(1, 5, pid=2), fault(1, 7, pid=2)]
    found = [op for op in done(made([*both, *brought(1, 7, pid=2)], [entry(1)])) if op[1] == 5]
    assert found == [(Op.FAULT, 5, 0), (Op.FAULT, 5, 0)]


def test_without_events_of_fault_around_every_fault_is_taken_to_read():
    events = [fault(1, 5), *brought(1, 5), fault(1, 5)]
    assert {row[2] for row in done(made(events, [entry(1)]))} == {0}


def test_advice_before_the_first_page_counts():
    calls = opened(1500, 3) | reads_of((2000, 1, 3))
    calls["syscalls:sys_enter_fadvise64"] = [(1600, 1, 3, 0, 0, 2)]
    built = made(one_read(2000, 0), [entry(1)], calls)
    assert done(built) == [(Op.SEQUENTIAL, 0, 0), (Op.READ, 0, PAGE)]


def test_advised_pages_that_did_not_come_in_need_not_be_cached():
    """The kernel caps what it reads for one call."""
    events = [*one_read(2000, 0)]
    events += [insert(1, page, time_ns=3000 + page) for page in (1, 2)]
    events.append(read(8, 16, time_ns=3010))
    calls = opened(1500, 3) | reads_of((2000, 1, 3))
    calls["syscalls:sys_enter_readahead"] = [(2900, 1, 3, PAGE, 90 * PAGE)]
    assert done(made(events, [entry(1)], calls)) == [(Op.READ, 0, PAGE), (Op.WILLNEED, 1, 90)]


def test_advice_that_reads_identifies_its_file():
    events = [insert(1, page, time_ns=2000 + page) for page in range(4)]
    events.append(read(0, 4, time_ns=2010))
    calls = opened(1500, 3)
    calls["syscalls:sys_enter_fadvise64"] = [(1600, 1, 3, 0, 4 * PAGE, 3)]
    assert done(made(events, [entry(1)], calls)) == [(Op.WILLNEED, 0, 4)]


@pytest.mark.parametrize("value", [-(1 << 63), -1, 0, 1 << 62])
def test_invalid_call_arguments_are_ignored(value):
    """Arguments of a damaged or hostile trace change at most what is known of descriptors."""
    calls = opened(1500, 3, value) | {"task:task_newtask": [(5, 1, value, value)]}
    counts = {"dup": 1, "dup2": 2, "dup3": 3, "fcntl": 3, "close": 1, "close_range": 3, "lseek": 1}
    counts |= {"munmap": 2, "mremap": 3, "readv": 1, "preadv": 2, "sendfile64": 3, "splice": 3}
    for time, (name, count) in enumerate(counts.items()):
        calls[f"syscalls:sys_enter_{name}"] = [(1600 + 2 * time, 1, *[value] * count)]
    for time, name in enumerate(counts):
        if name in ("dup", "fcntl", "lseek", "mremap"):
            calls[f"syscalls:sys_exit_{name}"] = [(1601 + 2 * time, 1, value)]
    events = [fault(1, 4, time_ns=9000), *brought(1, 4, time_ns=9001)]
    assert done(made(events, [entry(1)], calls))[-1] == (Op.FAULT, 4, 0)
