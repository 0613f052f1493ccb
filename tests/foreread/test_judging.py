"""What ends a judgement, and how its first difference is said."""

from __future__ import annotations

import pytest
from capture_builder import capture_of

from analyzer.judge.comparing import Difference
from analyzer.judge.programs import programs
from foreread.judging import _check, difference_text
from tracer.error import RecordError
from tracer.runner.executable import FAILED


@pytest.mark.parametrize("call", FAILED)
def test_a_call_that_failed_on_the_target_is_named(call):
    with pytest.raises(RecordError, match=f"its {call} failed") as caught:
        _check(16, capture_of(exit_status=FAILED[call]))
    assert caught.value.remedy


def test_a_runner_that_was_killed_is_an_error():
    with pytest.raises(RecordError, match="signal 7"):
        _check(16, capture_of(exit_status=None, signal=7))


def test_lost_events_are_an_error():
    _check(16, capture_of(lost={"0": 0}))
    with pytest.raises(RecordError, match="5 events were lost at a window of 16 KiB"):
        _check(16, capture_of(lost={"0": 2, "1": 3}))


def test_an_interrupt_ends_the_judgement():
    with pytest.raises(KeyboardInterrupt):
        _check(16, capture_of(ended_by="signal"))


def test_a_difference_says_program_window_step_and_both_reads():
    task = next(one for one in programs(4096) if one.name == "touches every 17th page")
    text = difference_text(Difference(task, 8, 3, "pages 26–41", "page 34"), 4096)
    assert text == (
        f'program "touches every 17th page" (a file of {task.size} bytes), window 32 KiB, step 4, '
        "which touches page 34 through a mapping: the emulation reads pages 26–41, this kernel "
        "read page 34"
    )


@pytest.mark.parametrize("page", [4096, 65536])
def test_every_step_of_every_program_has_words(page):
    for task in programs(page):
        words = [task.describe(step) for step in range(len(task.operations))]
        assert all(words)
        assert words[0].startswith("opens the file")
