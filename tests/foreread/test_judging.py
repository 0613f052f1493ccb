"""What ends a judgement, and how its first difference is said."""

import pytest
from capture_builder import capture_of

from foreread.analyzer.judge.comparing import Difference
from foreread.analyzer.judge.programs import programs
from foreread.analyzer.judge.run import Compared
from foreread.judging.judge import _check, _Judge, difference_text
from foreread.tracer.error import RecordError
from foreread.tracer.runner.executable import FAILED


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


class Rerun(_Judge):
    """Runs of 40 programs: ``slow`` ones differ until they are run again, ``slower`` ones until
    pauses are long, ``other`` ones always."""

    def __init__(self, slow, other, slower=()):
        self.tasks = range(40)
        self.tell = lambda _: None
        self.repeated = 0
        self.brought = []
        self._until = {0: set(slow), 200: set(slower), 1000: set(other)}

    def _bring(self, rows, pause_ms):
        self.brought.append((len(rows), pause_ms))

    def _recorded(self, _kb, _expected, rows):
        pause_ms = self.brought[-1][1] if self.brought else 0
        different = rows & set().union(
            *(those for until, those in self._until.items() if pause_ms <= until)
        )
        return Compared(differences={row: f"of {row}" for row in sorted(different)})


def test_all_programs_that_a_slow_disk_disturbed_are_run_again():
    judge = Rerun(slow=range(5, 25), other=[])
    assert judge._window(16, []).differences == {}
    assert judge.brought == [(3, 200), (6, 200), (11, 200), (40, 10)]
    assert judge.repeated == 20


def test_a_program_that_differs_again_ends_the_repetitions():
    judge = Rerun(slow=range(5, 25), other=[9])
    assert judge._window(16, []).differences == {9: "of 9"}
    assert judge.brought == [(3, 200), (6, 200), (1, 1000), (40, 10)]
    assert judge.repeated == 8


def test_a_program_that_only_a_long_pause_mends_does_not_differ():
    judge = Rerun(slow=range(5, 25), other=[], slower=[9])
    assert judge._window(16, []).differences == {}
    assert judge.brought == [(3, 200), (6, 200), (1, 1000), (11, 200), (40, 10)]
    assert judge.repeated == 20


@pytest.mark.parametrize("page", [4096, 65536])
def test_every_step_of_every_program_has_words(page):
    for task in programs(page):
        words = [task.describe(step) for step in range(len(task.operations))]
        assert all(words)
        assert words[0].startswith("opens the file")
