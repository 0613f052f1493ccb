"""What opening files takes, from calls and requests of a start that are written down by hand."""

import numpy as np
import pytest
from capture_builder import ROOT_PID, capture_of, recording_of, table_of
from event_table import BLOCKS, event, switch, table

from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import EVENTS, REQUESTS, Kind, Table
from foreread.analyzer.program.cpu import event_cost
from foreread.analyzer.program.opening import opening_of
from foreread.tracer.formats.capture import Boot

ENTER, EXIT = "syscalls:sys_enter_openat", "syscalls:sys_exit_openat"
ERROR = np.uint64(2**64 - 2)  # -ENOENT
AT_BOOT = Boot(processes=[ROOT_PID], read_before=[])


def found(uses, opens, reads, names=(ENTER, EXIT), paths=None, called=(), boot=None):
    """What opening takes in a start of one thread.

    ``uses`` are (ns, file), ``opens`` (begin, end, result), ``reads`` ns. Without ``paths`` each
    file has a folder of its own. ``called`` are (ns, path) of opens and of an exec, by event.

    A read's first sector is its time.
    """

    def read_fields(name, fields):
        if name in dict(called):
            when, path = zip(*dict(called)[name], strict=True)
            return {
                "time_ns": np.array(when, np.uint64),
                "pid": np.full(len(when), ROOT_PID, np.int32),
                fields[0]: np.array([one.encode() for one in path], object),
            }
        row = 0 if name == ENTER else 1
        return {
            "time_ns": np.array([one[row] for one in opens], np.uint64),
            "pid": np.full(len(opens), ROOT_PID, np.int32),
            **{field: np.array([one[2] for one in opens], np.uint64) for field in fields},
        }

    files = 1 + max(file for _, file in uses)
    recording = recording_of(
        [(file, 0) for _, file in uses],
        [4096] * files,
        trace=Trace(
            "trace",
            Table.empty(EVENTS),
            read_fields=read_fields,
            event_names=frozenset([*names, *dict(called)]),
        ),
        capture=capture_of(boot=boot),
        paths=paths or tuple(f"/{file}/file" for file in range(files)),
    )
    recording.accesses["time_ns"][:] = [when for when, _ in uses]
    recording.accesses["pid"][:] = ROOT_PID
    requests = table_of(REQUESTS, len(reads), issue_ns=reads, sector=reads, sectors=8, pid=ROOT_PID)
    return opening_of(recording, requests)


def test_metadata_before_the_first_use_of_a_file_belongs_to_opening_it():
    assert found([(100, 0), (200, 1)], [], [50, 150], names=()).sectors == {0: [50], 1: [150]}


def test_metadata_within_the_open_and_of_a_look_before_it_belongs_to_the_file():
    assert found([(100, 0)], [(40, 90, 3)], [30, 50]).sectors == {0: [30, 50]}


def test_metadata_read_just_before_a_folder_is_opened_is_not_the_file_s():
    """The open from 40 on is of something that is never read: a folder, which is listed at 70."""
    assert found([(200, 0)], [(40, 60, 3), (100, 190, 3)], [30, 50, 70, 120]).sectors == {
        0: [70, 120]
    }


def test_metadata_that_other_pages_follow_belongs_to_the_next_file():
    """The thread uses a page of file 0 again at 35: the read at 30 was not for the open at 40."""
    assert found([(10, 0), (35, 0), (200, 1)], [(40, 60, 3), (100, 190, 3)], [30, 50]).sectors == {
        0: [],
        1: [30],
    }


def test_metadata_of_an_open_that_fails_belongs_to_no_file():
    assert found([(200, 0)], [(40, 60, ERROR), (100, 190, 3)], [30, 50, 120]).sectors == {
        0: [30, 120]
    }


def test_what_is_read_outside_the_open_in_a_known_folder_is_another_file_s():
    """At 130 the interpreter looks at a source; within the open it reads the file's own inode."""
    uses, opens, reads = [(100, 0), (200, 1)], [(40, 90, 3), (150, 190, 3)], [50, 130, 160]
    paths = ("/lib/cache/a.pyc", "/lib/cache/b.pyc")
    assert found(uses, opens, reads, paths=paths).sectors == {0: [50], 1: [160]}
    paths = ("/lib/cache/a.pyc", "/lib/new/b.pyc")
    assert found(uses, opens, reads, paths=paths).sectors == {0: [50], 1: [130, 160]}


@pytest.mark.parametrize(
    ("loader", "boot", "sectors"),
    [
        ("/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", None, []),
        ("/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", AT_BOOT, [150]),
        ("/lib/ld-musl-armhf.so.1", None, [120, 150]),
    ],
)
def test_what_leads_to_the_link_of_the_loader_is_not_read_for_its_own_path(loader, boot, sectors):
    """Its own path is in memory, unless nothing is, at boot."""
    uses, reads = [(100, 0), (200, 1)], [50, 120, 150]
    opening = found(uses, [], reads, paths=("/bin/app", loader), boot=boot)
    assert opening.sectors == {0: [50], 1: sectors}


OPENED, EXECUTED = "foreread:openat", "sched:sched_process_exec"
PATHS = ("/bin/app", "/etc/cache", "/lib/a.so.1.2", "/lib/b.so.1")


@pytest.mark.parametrize(
    ("called", "own"),
    [
        ({EXECUTED: [(95, "/bin/app")]}, {0}),
        ({EXECUTED: [(95, "/bin/link")]}, set()),
        ({OPENED: [(110, "/etc/cache")]}, {1}),  # the read at 150 is within it
        ({OPENED: [(160, "/etc/cache")]}, set()),  # the read at 150 was of a stat before it
        ({OPENED: [(110, "/etc/cache"), (130, "/etc/other")]}, set()),
        ({OPENED: [(240, "/lib/a.so.1")]}, set()),  # a link to the file
        ({EXECUTED: [(95, "/bin/app")], OPENED: [(310, "/lib/b.so.1")]}, {0, 3}),
        ({}, set()),
    ],
)
def test_files_that_a_start_looks_up_by_their_own_names(called, own):
    uses, reads = [(100, 0), (200, 1), (300, 2), (400, 3)], [50, 150, 250, 350]
    opening = found(uses, [], reads, names=(), paths=PATHS, called=called.items())
    assert opening.sectors == {file: [read] for file, read in enumerate(reads)}
    assert opening.own_names == own


def test_the_time_of_an_open_is_the_median_of_those_that_read_nothing():
    opens = [(0, 10, 3), (20, 34, 3), (40, 52, 3), (60, 90, ERROR), (100, 300, 3)]
    assert found([(400, 0)], opens, [150]).open_ns == 12


def test_without_recorded_opens_their_time_is_not_counted():
    assert found([(100, 0)], [], [50], names=()).open_ns == 0


def test_an_exec_takes_as_long_as_it_occupies_a_processor():
    """From 1,000 to 21,000 and from 50,000 to 80,000; recording its 2 events is not counted."""
    events = table(
        switch(1_000, 1, ROOT_PID),
        switch(21_000, ROOT_PID, 1, BLOCKS),
        switch(50_000, 1, ROOT_PID),
        event(Kind.EXEC, ROOT_PID, time_ns=80_000),
        switch(90_000, ROOT_PID, 1),
    )
    recording = recording_of(
        [(0, 0)],
        [4096],
        trace=Trace("trace", events),
        capture=capture_of(start_ns=1_000, end_ns=100_000),
    )
    found = opening_of(recording, Table.empty(REQUESTS)).exec_ns
    assert found == pytest.approx(50_000 - 2 * event_cost(events))


def test_an_exec_of_a_boot_takes_the_median_of_its_processes_and_the_replayer_is_on_the_disk():
    """20,000, 40,000 and 60,000 on a processor, each with one event of its own."""
    steps, at = [], 10_000
    for pid, took in ((401, 20_000), (402, 40_000), (403, 60_000)):
        steps += [switch(at, 1, pid), event(Kind.EXEC, pid, time_ns=at + took)]
        steps.append(switch(at + took + 5_000, pid, 1))
        at += 100_000
    events = table(*steps)
    files = ["/lib/ld-linux-aarch64.so.1", "/etc/ld.so.cache", "/lib/libc.so.6", "/lib/libcap.so.2"]
    recording = recording_of(
        [(row, 0) for row in range(4)],
        [4096] * 4,
        trace=Trace("trace", events),
        capture=capture_of(
            start_ns=1_000, end_ns=1_000_000, boot=Boot(processes=[1], read_before=[])
        ),
        paths=tuple(files),
    )
    found = opening_of(recording, Table.empty(REQUESTS))
    assert found.exec_ns == pytest.approx(40_000 - event_cost(events))
    assert found.libraries == {0, 1, 2}
    assert found.program_bytes > 0
