"""The curve of seconds in a terminal."""

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from foreread.cli.text import curve

ROOT = Path(__file__).parents[3]
CAPTURE = str(ROOT / "examples/python-start/python-start.capture.tar.xz")
KB = [0, 4, 8, 12, 16, 32, 64, 128, 512, 2048, 4092]
SECONDS = [3.6, 2.9, 2.0, 1.6, 1.3, 0.97, 1.0, 1.16, 1.25, None, 1.3]


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


class AsciiTerminal(Terminal):
    encoding = "ascii"


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("columns", [40, 57, 80, 200])
def test_the_curve_fits_the_terminal(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = curve.curve_text(KB, SECONDS, Terminal()).splitlines()
    whole = "seconds by window (KiB); at 0 KiB: 3.600 s"
    assert lines[0] == (whole if columns >= len(whole) else "seconds by window (KiB)")
    assert max(map(len, lines)) <= columns
    assert "\x1b" not in "".join(lines)  # no colours: NO_COLOR has nothing to turn off


def test_the_curve_falls_from_the_left():
    drawn = curve.curve_text(KB, SECONDS, AsciiTerminal()).splitlines()[2:-2]
    assert drawn[0][1] == "+"
    assert drawn[0].count("+") == 1
    assert drawn[-1].index("+") > len(drawn[-1]) // 5


def test_an_ascii_terminal_gets_ascii():
    drawn = curve.curve_text(KB, SECONDS, AsciiTerminal())
    assert drawn.isascii()
    assert drawn.count("+") > 20


@pytest.mark.parametrize(("name", "value"), [("TERM", "dumb"), ("TERM", None), ("COLUMNS", "39")])
def test_a_terminal_that_cannot_show_it_gets_none(name, value, monkeypatch):
    if value is None:
        monkeypatch.delenv(name)
    else:
        monkeypatch.setenv(name, value)
    assert curve.curve_text(KB, SECONDS, Terminal()) == ""


def test_a_pipe_and_a_missing_library_get_none(monkeypatch):
    assert curve.curve_text(KB, SECONDS, io.StringIO()) == ""
    monkeypatch.setitem(sys.modules, "uniplot", None)
    assert curve.curve_text(KB, SECONDS, Terminal()) == ""


def test_two_windows_are_no_curve():
    assert curve.curve_text([0, 4, 8], [1.0, 2.0, 3.0], Terminal()) == ""


def printed(terminal):
    """Return what predict prints, into a terminal of 80 columns or a pipe."""
    words = [sys.executable, "-m", "foreread", "predict", CAPTURE, "--windows", "0,4,8,16,32,128"]
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    if not terminal:
        return subprocess.run(words, capture_output=True, check=True, text=True, cwd=ROOT).stdout
    ours, theirs = pty.openpty()
    with subprocess.Popen(words, stdout=theirs, cwd=ROOT, env=environment) as process:
        os.close(theirs)
        chunks = []
        try:
            while chunk := os.read(ours, 1 << 16):
                chunks.append(chunk)
        except OSError:  # the other end is closed
            pass
        assert process.wait() == 0
    os.close(ours)
    return b"".join(chunks).decode().replace("\r\n", "\n")


@pytest.mark.thorough
def test_predict_draws_it_in_a_terminal_in_place_of_the_table():
    shown, piped = printed(terminal=True), printed(terminal=False)
    assert "seconds by window (KiB)" not in piped
    before, _, after = shown.partition("seconds by window (KiB)")
    assert piped.startswith(before)
    assert "verdict: set read_ahead_kb=32" in before
    assert " KiB  requests  pages" not in after
    end = "vda: 32 pages of 3,513"
    assert after[after.index(end) :] == piped[piped.index(end) :]
    rows = [-(-len(line) // 80) or 1 for line in shown.splitlines()]
    assert sum(rows) <= 25


def test_the_scale_names_the_windows_below_their_points(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    lines = curve.curve_text(KB, SECONDS, Terminal()).splitlines()
    scale = lines[-1]
    assert scale.split()[:3] == ["4", "8", "16"]
    lowest = max(i for i, line in enumerate(lines) if "▖" in line or "▄" in line or "▀" in line)
    begin = min(at for at, mark in enumerate(lines[lowest]) if mark in "▖▄▀▝▗▚")
    assert scale.index("16") < begin + 12 < scale.index("128")  # 32 KiB is the fastest
