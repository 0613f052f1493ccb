"""The progress of a tuning, in a log and on terminals of any width."""

import fcntl
import io
import os
import struct
import termios
from dataclasses import replace

import pytest
from terminals import shown_until

from foreread.analyzer.tuner.campaign.progress import CampaignProgress
from foreread.analyzer.tuner.findings.confirming import Confirming
from foreread.cli.text.tuning import TuningLine

SOME = CampaignProgress(
    generation=12,
    best={},
    improvement=0.234,
    interval=(0.201, 0.25),
    evaluations=57,
    most=200,
    seconds=400.0,
    seconds_left=1000.0,
)


@pytest.fixture
def terminal():
    """Return what a terminal of some width gets of a progress."""
    ours, theirs = os.openpty()

    def shown(width, *steps):
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        with open(os.dup(theirs), "w") as stream:  # noqa: PTH123
            line = TuningLine(stream)
            for step in steps:
                step(line)
            line.end()
        said = shown_until(ours, lambda said: said.endswith(b"\n"))
        return said.decode().replace("\r\n", "\n")

    yield shown
    os.close(ours)
    os.close(theirs)


def searching(line):
    line.searching(SOME)


def logged(progress):
    log = io.StringIO()
    line = TuningLine(log)
    line.searching(progress)
    line.end()
    return log.getvalue()


def test_a_log_has_a_whole_line_a_run_without_trailing_blanks():
    assert logged(SOME) == (
        "foreread: generation 12: best 23.4 % (20.1 to 25.0) better than the default; "
        "run 57 of 200, 16 min 40 s left\n"
    )


def test_without_a_budget_it_says_what_was_spent():
    endless = replace(SOME, interval=None, most=None, seconds_left=None)
    assert "best 23.4 % better than the default; run 57, 6 min 40 s so far" in logged(endless)


@pytest.mark.parametrize("width", [200, 80, 60, 20, 0])
def test_a_terminal_has_one_line_that_fits(terminal, width):
    said = terminal(width, searching, lambda line: line.confirming(Confirming(3, 9)), searching)
    first, second, third = said.removesuffix("\n").split("\r")[1:]
    assert first == third and "\n" not in said[:-1]
    assert len(first) == len(second) == (width or 80) - 1


def test_a_terminal_of_80_columns_has_all_of_it(terminal):
    said = terminal(80, searching)
    for what in ("generation 12", "23.4 %", "(20.1 to 25.0)", "57 of 200", "16 min 40 s left"):
        assert what in said
