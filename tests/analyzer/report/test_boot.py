"""What init and the programs that it started cost, in the report of a recorded boot."""

from types import SimpleNamespace

import numpy as np
from capture_builder import capture_of, recording_of, table_of
from event_table import event, switch, table

from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import REQUESTS, Kind
from foreread.analyzer.program.owners import EXEC, MOVE
from foreread.analyzer.report.boot import programs
from foreread.tracer.formats.capture import Boot

INIT, SERVICE, LATER = 1, 50, 60
MS = 1_000_000
MOVED = [(25 * MS, SERVICE, b"/system.slice/shop.service")]
EXECUTED = [
    (10 * MS, INIT, b"/sbin/init"),
    (30 * MS, SERVICE, b"/usr/bin/shop"),
    (60 * MS, LATER, b"/usr/bin/sh\xff"),
]


def fields_of(calls):
    def read_fields(name, fields):
        times, threads, texts = zip(*calls[name], strict=True)
        return {
            "time_ns": np.array(times, np.uint64),
            "pid": np.array(threads, np.int32),
            fields[1]: np.array(texts, object),
        }

    return read_fields


BOOT = Boot(processes=[INIT], read_before=[])


def table_of_boot(moved=MOVED, boot=BOOT):
    """The table of a boot: init runs from 0, a service from 20 ms, what that starts from 50 ms."""
    calls = {EXEC: EXECUTED} | ({MOVE: moved} if moved else {})
    events = table(
        event(Kind.FORK, INIT, time_ns=20 * MS, value=SERVICE),
        switch(20 * MS, INIT, SERVICE),
        event(Kind.EXEC, SERVICE, time_ns=30 * MS),
        switch(40 * MS, SERVICE, INIT),
        event(Kind.FORK, SERVICE, time_ns=50 * MS, value=LATER),
        switch(55 * MS, INIT, 0),
    )
    names = frozenset(calls)
    trace = Trace("trace", events, read_fields=fields_of(calls), event_names=names)
    times = [5 * MS, 15 * MS, 22 * MS, 35 * MS, 70 * MS]
    recording = recording_of(
        [(0, page) for page in range(len(times))],
        [1 << 20],
        trace=trace,
        capture=capture_of(boot=boot),
        threads=frozenset([INIT, SERVICE, LATER]),
        requests=table_of(
            REQUESTS,
            2,
            pid=[INIT, SERVICE],
            issue_ns=[15 * MS, 35 * MS],
            complete_ns=[18 * MS, 39 * MS],
        ),
    )
    recording.accesses["time_ns"][:] = times
    recording.accesses["pid"][:] = [INIT, INIT, SERVICE, SERVICE, LATER]
    return programs(SimpleNamespace(recording=recording))


def test_each_program_has_what_its_threads_cost():
    [found] = table_of_boot(moved=[])
    assert [column.title for column in found.columns] == [
        "program",
        "started",
        "pages accessed",
        "disk",
        "processor",
    ]
    assert found.rows == [
        # The service ran init's program for 10 ms before its own.
        ["/sbin/init", "1", "2", "0.003 s", "0.025 s"],
        ["/usr/bin/shop", "1", "1", "0.004 s", "0.010 s"],
        ["what ran when the recording began", "0", "1", "0.000 s", "0.000 s"],
        ["/usr/bin/sh\udcff", "1", "1", "0.000 s", "0.000 s"],
    ]


def test_programs_are_of_the_unit_whose_group_they_are_in():
    [found] = table_of_boot()
    units = {row[0]: row[1] for row in found.rows}
    assert units == {
        "/sbin/init": "",
        "/usr/bin/shop": "shop.service",
        "/usr/bin/sh\udcff": "shop.service",
        "what ran when the recording began": "",
    }


def test_a_recorded_command_has_no_such_table():
    assert table_of_boot(boot=None) == []
