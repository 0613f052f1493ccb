"""What a target that is watched may answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreread.tracer.error import RecordError
from foreread.tracer.remote.job import making_sense
from foreread.tracer.remote.top import Taken, parse_taken

PAGE = 4096


def test_pages_of_two_processors():
    data = bytes(range(256)) * 16
    answer = b"cpu 0 1 0\n" + data + b"cpu 1 0 12\n"
    assert parse_taken(answer, PAGE) == Taken({0: data, 1: b""}, {0: 0, 1: 12})


@pytest.mark.parametrize(
    "answer",
    [b"", b"cpu 0 1 0\n", b"cpu 0 1 0\n" + bytes(PAGE - 1), b"cpu 0 0 0", b"motd\ncpu 0 0 0\n"],
)
def test_an_answer_that_is_cut_off_is_refused(answer):
    with pytest.raises(ValueError, match=r".*"):
        parse_taken(answer, PAGE)


def test_a_dead_recorder_is_said():
    with pytest.raises(RecordError, match="the recorder on the target died"):
        parse_taken(b"cpu 0 0 0\ngone\n", PAGE)


@given(st.binary(max_size=200) | st.builds(lambda n: b"cpu 0 %d 0\n" % n, st.integers(0)))
def test_anything_may_be_answered(answer):
    try:
        with making_sense("the events"):
            assert parse_taken(answer, PAGE).lost
    except RecordError as error:
        assert error.remedy
