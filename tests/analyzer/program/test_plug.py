"""Extra waits of faults at window 0, where no plug issues their reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from event_table import DISK, R, event, insert, table

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import Kind, Rwbs
from foreread.analyzer.program.plug import unplugged_ns, with_plugs
from foreread.analyzer.program.steps import own_requests
from foreread.emulator.linux.operations import OPERATION, Op
from foreread.emulator.linux.steps import STEP
from foreread.tracer.formats.capture import NO_METADATA

AHEAD = R | int(Rwbs.AHEAD)


def recorded(reads):
    """Each of ``reads`` is (flags, ns from bio to driver) of a page of its own."""
    events, now = [], 0
    for page, (flags, wait) in enumerate(reads):
        now += 1_000_000
        block = {"index": page * 8, "value": 8, "flags": flags}
        events += [
            insert(1, page, time_ns=now),
            event(Kind.BIO_QUEUE, time_ns=now + 1000, **block),
            event(Kind.RQ_ISSUE, time_ns=now + 1000 + wait, **block),
            event(Kind.RQ_COMPLETE, time_ns=now + 500_000, **block),
        ]
    return interpret(Trace("tracefs pages", table(*events), page_size=4096), NO_METADATA, [], "all")


def unplugged(reads):
    recording = recorded(reads)
    own = own_requests(recording, recording.requests)
    return unplugged_ns(recording, DISK, recording.requests["sector"][own])


def test_reads_without_a_plug_are_compared_with_plugged_ones():
    reads = [(R, 16_500)] * 9 + [(R, 90_000), *[(AHEAD, 7_200)] * 5]
    assert unplugged(reads) == 9_300


def test_a_faster_unplugged_read_has_no_extra_cost():
    assert unplugged([(R, 300)] * 9 + [(AHEAD, 800)] * 9) == 0


@pytest.mark.parametrize("reads", [[(R, 16_500)] * 9, [(R, 16_500)] * 9 + [(AHEAD, 7_200)] * 4])
def test_too_few_requests_of_a_kind_do_not_correct_the_disk(reads):
    assert unplugged(reads) == 0


@dataclass(frozen=True)
class Program:
    operations: np.ndarray


@dataclass(frozen=True)
class Run:
    program: Program
    steps: np.ndarray


@dataclass(frozen=True)
class Timed:
    work: np.ndarray


def test_only_faults_that_missed_are_spared_and_none_more_than_it_took():
    operations = np.zeros(4, OPERATION)
    operations["op"] = (Op.FAULT, Op.READ, Op.FAULT, Op.FAULT)
    steps = np.zeros(5, STEP)
    steps["operation"] = (0, 1, 2, 3, -1)
    steps["cpu_ns"] = (50.0, 50.0, 50.0, 4.0, 50.0)
    work = Timed(np.array([[1, 1], [1, 1], [0, 0], [1, 1], [1, 0]]))
    run = with_plugs(Run(Program(operations), steps), work, 9.0)
    assert run.steps["cpu_ns"].tolist() == [41.0, 50.0, 50.0, 0.0, 50.0]
    assert steps["cpu_ns"][0] == 50.0
