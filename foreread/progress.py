"""One line of progress on stderr: what is being done, and how long it still takes."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from foreread.cli.text.wording import duration_text

_EVERY_S = 5.0  # in a log; a terminal's line is written over
_WIDTH = 78


class ProgressLine:
    """Says steps, and how far a step of known length is; on a terminal in one line.

    In a log each step stands in a line of its own, and a long one says how far it is now and then.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._terminal = self._stream.isatty()
        self._began_s = self._said_s = time.monotonic()
        self._open = False

    def step(self, text: str) -> None:
        """Say what begins now."""
        self._began_s = self._said_s = time.monotonic()
        self._say(text)

    def part(self, text: str, done: int, total: int) -> None:
        """Say that ``done`` of ``total`` equal parts of the step are over."""
        now_s = time.monotonic()
        if not self._terminal and now_s - self._said_s < _EVERY_S:
            return
        self._said_s = now_s
        left_s = (now_s - self._began_s) / max(done, 1) * (total - done)
        self._say(f"{text}: {done}/{total}, {duration_text(left_s)} left")

    def end(self) -> None:
        """Leave the line, so that what follows begins a new one."""
        if self._open:
            print(file=self._stream, flush=True)
        self._open = False

    def _say(self, text: str) -> None:
        line = f"foreread: {text}"
        if not self._terminal:
            print(line, file=self._stream, flush=True)
            return
        print(f"\r{line[:_WIDTH]:<{_WIDTH}}", end="", file=self._stream, flush=True)
        self._open = True
