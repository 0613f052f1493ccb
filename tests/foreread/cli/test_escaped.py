"""Nothing but text, newlines and tabs reaches a terminal."""

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from terminals import shown_until

from foreread.boards.base.printable import printable
from foreread.cli.main import main
from foreread.cli.text.escaped import EscapedStream, escaped_output
from foreread.cli.text.progress import ProgressLine

HOSTILE = "\x1b]0;x\x07\x1b[2J\u202e\x9b\r\x7f\udc80"
ROOT = Path(__file__).parents[3]


@given(st.text(st.characters()))
def test_what_is_printed_is_visible_or_a_newline_or_a_tab(text):
    below = io.StringIO()
    print(text, file=EscapedStream(below), end="")
    shown = below.getvalue()
    assert shown.replace("\n", "").replace("\t", "").isprintable()
    assert shown.count("\n") == text.count("\n")
    if text.isprintable():
        assert shown == text


def test_all_that_a_command_prints_is_escaped(capsys):
    with escaped_output():
        print(HOSTILE)
        print(HOSTILE, file=sys.stderr)
    expected = printable(HOSTILE) + "\n"
    assert tuple(capsys.readouterr()) == (expected, expected)


def test_arguments_in_usage_errors_are_escaped(capsys):
    with pytest.raises(SystemExit):
        main(["show", "capture", f"--{HOSTILE}"])
    assert capsys.readouterr().err.replace("\n", "").isprintable()


def test_a_traceback_is_escaped():
    code = (
        "import foreread.cli.main as m\n"
        "def fail(args): raise RuntimeError('\\x1b[2J')\n"
        "m._run = fail\n"
        "m.main(['doctor'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, cwd=ROOT)
    assert done.returncode == 1
    assert b"RuntimeError: \\x1b[2J" in done.stderr and b"\x1b" not in done.stderr


def test_a_progress_line_overwrites_itself_and_nothing_else_moves_the_cursor():
    primary, secondary = pty.openpty()
    with os.fdopen(secondary, "w") as terminal:
        line = ProgressLine(EscapedStream(terminal))
        assert line.on_terminal
        line.say(f"one {HOSTILE}\n")
        line.say("two")
    shown = shown_until(primary, lambda shown: shown.count(b"\r") >= 2).decode()
    os.close(primary)
    assert shown.count("\r") == 2 and shown.startswith("\rforeread: one \\x1b")
    assert shown.replace("\r", "").isprintable()


def test_closed_streams_swallow_what_is_printed():
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m foreread show none >&- 2>&-"], check=False, cwd=ROOT
    )
    assert done.returncode == 1
