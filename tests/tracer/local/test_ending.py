from __future__ import annotations

import os
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreread.tracer.error import RecordError
from foreread.tracer.local.command import HeldCommand
from foreread.tracer.local.ending import Watch, _Tee
from foreread.tracer.runs.options import Ending, find_executable

PATTERN = re.compile(rb"ready \d+\n")


@given(
    before=st.binary(max_size=50),
    after=st.binary(max_size=50),
    cuts=st.lists(st.integers(1, 9), max_size=20),
)
def test_output_passes_unchanged_and_matches_across_chunks(before, after, cuts):
    data = before + b"ready 42\n" + after
    source, sink = os.pipe(), os.pipe()
    tee = _Tee(source[0], sink[1], PATTERN)
    rest = data
    for cut in [*cuts, len(data)]:
        chunk, rest = rest[:cut], rest[cut:]
        if chunk:
            os.write(source[1], chunk)
            tee.pump()
    assert os.read(sink[0], len(data) + 1) == data
    assert tee.matched
    for descriptor in (*source, *sink):
        os.close(descriptor)


def test_output_without_the_pattern_does_not_match():
    source, sink = os.pipe(), os.pipe()
    tee = _Tee(source[0], sink[1], PATTERN)
    os.write(source[1], b"ready to start\n")
    os.close(source[1])
    assert tee.pump()
    assert not tee.pump()
    assert not tee.matched
    for descriptor in (source[0], *sink):
        os.close(descriptor)


def test_a_reader_that_has_gone_does_not_end_the_run():
    source, sink = os.pipe(), os.pipe()
    os.close(sink[0])
    tee = _Tee(source[0], sink[1], PATTERN)
    os.write(source[1], b"ready 1\n")
    assert tee.pump()
    assert tee.matched
    for descriptor in (*source, sink[1]):
        os.close(descriptor)


@pytest.mark.parametrize(
    "ending", [Ending(duration_s=0), Ending(idle_ms=-1), Ending(duration_s=float("nan"))]
)
def test_conditions_that_cannot_be_met_are_refused(ending):
    with pytest.raises(RecordError, match="must be positive"):
        ending.check()


def test_a_broken_regular_expression_is_refused():
    with pytest.raises(RecordError, match="not a regular expression"):
        Watch(Ending(output="(unclosed"))


def test_a_full_disk_that_stdout_goes_to_does_not_end_the_run():
    source = os.pipe()
    sink = os.open("/dev/full", os.O_WRONLY)
    tee = _Tee(source[0], sink, PATTERN)
    os.write(source[1], b"ready 1\n")
    assert tee.pump()
    assert tee.matched
    for descriptor in (*source, sink):
        os.close(descriptor)


@pytest.mark.parametrize("ending", [Ending(duration_s=1e9), Ending(duration_s=1e300)])
def test_a_run_may_be_allowed_more_than_poll_can_wait(ending, tmp_path):
    with HeldCommand(["true"], find_executable("true", tmp_path), tmp_path) as held:
        assert Watch(ending).run(held).by == "exit"
