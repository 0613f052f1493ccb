"""The steps of threads, from events written by hand."""

from __future__ import annotations

from capture_builder import ROOT_PID, capture_of
from event_table import BLOCKS, DEAD, SOFTIRQ, R, event, insert, read, switch, table, wake

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import Kind
from foreread.analyzer.predict.inputs import inputs
from foreread.analyzer.program import thread_steps
from foreread.analyzer.program.steps import own_requests
from foreread.emulator.devices.device import FixedCost
from foreread.emulator.linux.requests import Layout
from foreread.emulator.linux.rules import rules_for
from foreread.emulator.linux.steps import Run
from foreread.emulator.stepwise.timed import timed
from foreread.tracer.formats.capture import FileEntry

A, B, C, IDLE, OTHER = ROOT_PID, 101, 102, 0, 9
ENTRY = FileEntry(dev="7:0", ino=1, path="/a", size_bytes=64 * 4096)
DEVICE = FixedCost(1000, 0)
LINUX = (6, 18, 0)


def steps(*events, **capture):
    """Return the steps, and how long a replay takes, of events in order of time."""
    rows = sorted(events, key=lambda row: row[0])
    trace = Trace("test", table(*rows), kernel="6.18.0")
    until = {"end_ns": rows[-1][0], **capture}
    recording = interpret(trace, capture_of(**until), [ENTRY], "tree")
    taken = inputs(recording, LINUX)
    requests = recording.requests
    own = own_requests(recording, requests)
    found = thread_steps.steps_in_time(recording, taken.program, taken.times, requests, own)
    machine, limits = taken.machine(0) if taken.disks else (None, None)
    total = None
    if machine is not None:
        layout = Layout(taken.extents)
        rules = rules_for(LINUX)
        both = (found.cpus, found.ends)
        run = Run(taken.program, found.steps, found.tail_ns, rules, machine, limits, layout, *both)
        total = timed(run, 0, DEVICE).total_ns
    return found, total


def rows(found, *names):
    return [tuple(map(float, row)) for row in found.steps[list(names)].tolist()]


def missed(at, page, thread=A, came=1300, cpu=0):
    """A fault at ``at`` that waits for its page: issued 200 later, asleep 500 to ``came`` later."""
    sector = page * 8
    return [
        event(Kind.FAULT, pid=thread, ino=1, index=page, time_ns=at, cpu=cpu),
        insert(1, page, pid=thread, time_ns=at + 100, cpu=cpu),
        read(sector, 1, pid=thread, time_ns=at + 150, cpu=cpu),
        event(Kind.RQ_ISSUE, pid=thread, index=sector, value=8, flags=R, time_ns=at + 200, cpu=cpu),
        switch(at + 500, thread, IDLE, BLOCKS, cpu=cpu),
        event(
            Kind.RQ_COMPLETE, pid=IDLE, index=sector, value=8, flags=R, time_ns=at + 1200, cpu=cpu
        ),
        wake(at + 1210, IDLE, thread, SOFTIRQ, cpu=cpu),
        switch(at + came, IDLE, thread, cpu=cpu),
    ]


def ended(at, thread, cpu=0):
    return [
        event(Kind.EXIT, pid=thread, time_ns=at - 10, cpu=cpu),
        switch(at, thread, IDLE, DEAD, cpu=cpu),
    ]
