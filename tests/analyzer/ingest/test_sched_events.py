"""Context switches and wake-ups: every reader against the recorder's own output."""

import lzma
import re
from pathlib import Path

import numpy as np
import pytest

from foreread.analyzer.ingest import perfdata, text, tracedat, tracefs
from foreread.analyzer.ingest.formats import Formats
from foreread.analyzer.ingest.tables import Kind

FIXTURES = Path(__file__).parent / "data" / "sched"
STATES = {"R": 0, "S": 1, "D": 2}
COLUMNS = ("cpu", "kind", "pid", "index", "value")
COMMON = b"""\
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;
"""
# TASK_COMM_LEN is 16 everywhere; a long of 4 bytes, and up to 3.x the success of a wake-up.
SWITCH_32_BIT = b"""\
\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:1;
\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;
\tfield:long prev_state;\toffset:32;\tsize:4;\tsigned:1;
\tfield:char next_comm[16];\toffset:36;\tsize:16;\tsigned:1;
\tfield:pid_t next_pid;\toffset:52;\tsize:4;\tsigned:1;
\tfield:int next_prio;\toffset:56;\tsize:4;\tsigned:1;
"""
WAKEUP_32_BIT = b"""\
\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:1;
\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;
\tfield:int success;\toffset:32;\tsize:4;\tsigned:1;
\tfield:int target_cpu;\toffset:36;\tsize:4;\tsigned:1;
"""


def of_scheduler(events):
    return events.take(np.isin(events["kind"], (Kind.SWITCH, Kind.WAKING)))


def rows(events, names=COLUMNS):
    return list(zip(*(events[name].tolist() for name in names), strict=True))


def states_of(index):
    """prev_state as far as the letter tells it: the lowest bit that is set, other ones as one."""
    known = {0: 0, 1: 1, 2: 2}
    # 0x100 is the + of one that was preempted
    return [known.get(int(state) & 0xFF, 4) for state in index]


def test_pages_are_what_the_kernel_prints():
    trace, printed = tracefs.read(FIXTURES / "pages"), text.read(FIXTURES / "trace.txt")
    for cpu in (0, 1):  # microseconds in the text: CPUs may swap places within one
        found = of_scheduler(trace.events.take(trace.events["cpu"] == cpu))
        expected = of_scheduler(printed.events.take(printed.events["cpu"] == cpu))
        names = ("cpu", "kind", "pid", "value")
        assert rows(found, names) == rows(expected, names)
        switch = found["kind"] == Kind.SWITCH
        assert states_of(found["index"][switch]) == expected["index"][switch].tolist()
        flags = found["index"][~switch] & np.uint64(8 | 16)
        assert flags.tolist() == expected["index"][~switch].tolist()
    kinds = trace.events["kind"].tolist()
    assert min(kinds.count(Kind.SWITCH), kinds.count(Kind.WAKING)) > 20


def test_trace_dat_decodes_as_trace_cmd_prints():
    found = of_scheduler(tracedat.read(FIXTURES / "v7.trace.dat").events)
    expected = of_scheduler(text.read(FIXTURES / "v7.report.txt").events)
    names = ("time_ns", "cpu", "kind", "pid", "value")
    assert rows(found, names) == rows(expected, names)
    switch = found["kind"] == Kind.SWITCH
    assert states_of(found["index"][switch]) == expected["index"][switch].tolist()
    assert found.rows > 200


def test_perf_data_decodes_as_perf_prints(tmp_path):
    data = tmp_path / "perf.data"
    data.write_bytes(lzma.decompress((FIXTURES / "perf.data.xz").read_bytes()))
    events = perfdata.read(data).events
    found = events.take(events["kind"] == Kind.SWITCH)
    line = (
        r"(\d+) \[(\d+)\] (\d+)\.(\d+): sched:sched_switch: .*prev_state=(\w)\+? ==> "
        r".*next_pid=(\d+)"
    )
    printed = (FIXTURES / "perf.txt").read_text()
    expected = [
        (int(seconds) * 10**9 + int(part), int(cpu), int(pid), STATES.get(state, 4), int(next_pid))
        for pid, cpu, seconds, part, state, next_pid in re.findall(line, printed)
    ]
    columns = [found[name].tolist() for name in ("time_ns", "cpu", "pid")]
    states = states_of(found["index"])
    assert list(zip(*columns, states, found["value"].tolist(), strict=True)) == expected
    woken = events["value"][events["kind"] == Kind.WAKING].tolist()
    assert woken == [int(pid) for pid in re.findall(r"sched_waking: .* pid=(\d+)", printed)]
    assert len(expected) > 100


@pytest.mark.parametrize("name", ["sched:sched_waking", "sched:sched_wakeup"])
def test_formats_of_32_bits(name):
    def whole(number, event, fields):
        head = f"name: {event.partition(':')[2]}\nID: {number}\nformat:\n".encode()
        return head + COMMON + b"\n" + fields + b'\nprint fmt: "%d", REC->common_pid\n'

    texts = {
        "sched:sched_switch": whole(7, "sched:sched_switch", SWITCH_32_BIT),
        name: whole(8, name, WAKEUP_32_BIT),
    }
    specs = Formats(texts, byte_order="little", long_size=4).specs()
    switch, waking = (specs[specs["kind"] == kind][0] for kind in (Kind.SWITCH, Kind.WAKING))
    assert switch["numeric"][2:].tolist() == [(32, 4, 1), (52, 4, 1)]
    assert waking["numeric"][2:].tolist() == [(2, 1, 0), (24, 4, 1)]
