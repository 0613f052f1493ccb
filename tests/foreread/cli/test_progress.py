"""What a command says while it works: its steps, how far it is, and the time that is left."""

import io

import pytest

from foreread.cli.text import progress
from foreread.cli.text.progress import ProgressLine


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """The time in seconds, which a test sets."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_log_has_a_line_a_step_and_one_now_and_then(clock):
    log = io.StringIO()
    line = ProgressLine(log)
    line.step("drawing")
    for done in range(1, 9):
        clock[0] = 1.0 * done
        line.part("drawing", done, 9)
    line.end()
    assert log.getvalue().splitlines() == ["foreread: drawing", "foreread: drawing: 5/9, 4 s left"]


def test_a_terminal_has_one_line_that_is_written_over_and_then_left(clock):
    screen = Terminal()
    line = ProgressLine(screen)
    line.step("reading " + 99 * "x")
    line.step("drawing")
    clock[0] = 10.0
    line.part("drawing", 1, 10)
    line.end()
    line.end()
    shown = screen.getvalue()
    assert shown.count("\n") == 1
    first, second, third = (one.rstrip("\n") for one in shown.split("\r")[1:])
    assert len(first) == len(second) == len(third) < 80
    assert third.rstrip() == "foreread: drawing: 1/10, 1 min 30 s left"
