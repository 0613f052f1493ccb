"""The progress line on stderr: a terminal shows one line, a log has a line for each step."""

from __future__ import annotations

import os
import sys
import time
from typing import TextIO

from foreread.boards.base.printable import printable
from foreread.cli.text.escaped import overwrite
from foreread.cli.text.wording import duration_text

PREFIX = "foreread: "
_COLUMNS = 80  # of a terminal that does not say it, as a serial console
_EVERY_S = 5.0  # how often a log says how far a step is


class ProgressLine:
    """A line that is overwritten on a terminal, and cut to its width."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self.on_terminal = self._stream.isatty()
        self._began_s = self._said_s = time.monotonic()
        self._open = False

    def step(self, text: str) -> None:
        """Say what begins now; ``part`` says how far it is."""
        self._began_s = self._said_s = time.monotonic()
        self.say(text)

    def part(self, text: str, done: int, total: int) -> None:
        """Report that ``done`` of ``total`` equal parts of the step are finished."""
        now_s = time.monotonic()
        if not self.on_terminal and now_s - self._said_s < _EVERY_S:
            return
        self._said_s = now_s
        left_s = (now_s - self._began_s) / max(done, 1) * (total - done)
        self.say(f"{text}: {done}/{total}, {duration_text(left_s)} left")

    def count(self, text: str, done: int, listed: int) -> None:
        """Report that ``done`` of at least ``known`` are finished: more may be found."""
        now_s = time.monotonic()
        if self.on_terminal or now_s - self._said_s >= _EVERY_S:
            self._said_s = now_s
            self.say(f"{text}: {done:,} of {listed:,} listed so far")

    def say(self, text: str, shorter: str = "") -> None:
        """Show a text; ``shorter`` replaces it on a terminal that is too narrow for it."""
        text, shorter = printable(text), printable(shorter)
        if not self.on_terminal:
            print(f"{PREFIX}{text}", file=self._stream, flush=True)
            return
        # A line as wide as the terminal would go on in the next one.
        width = self._columns() - 1
        fits = len(PREFIX + text) <= width
        line = PREFIX + text if fits or not shorter else shorter
        overwrite(self._stream, f"{line[:width]:<{width}}")
        self._open = True

    def end(self) -> None:
        """Leave the line as it is, and begin a new one."""
        if self._open:
            print(file=self._stream, flush=True)
        self._open = False

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or _COLUMNS
        except OSError:
            return _COLUMNS
