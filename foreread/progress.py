"""One line of progress on stderr: the current step, and the time left."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from foreread.cli.text.wording import duration_text

_EVERY_S = 5.0  # in a log; a terminal's line is overwritten
_WIDTH = 78


class ProgressLine:
    """Prints steps, and the progress of a step of known length; on a terminal in one line.

    In a log each step has its own line, and a long one reports its progress now and then.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._terminal = self._stream.isatty()
        self._began_s = self._said_s = time.monotonic()
        self._open = False

    def step(self, text: str) -> None:
        """Print the step that begins now."""
        self._began_s = self._said_s = time.monotonic()
        self._say(text)

    def part(self, text: str, done: int, total: int) -> None:
        """Report that ``done`` of ``total`` equal parts of the step are finished."""
        now_s = time.monotonic()
        if not self._terminal and now_s - self._said_s < _EVERY_S:
            return
        self._said_s = now_s
        left_s = (now_s - self._began_s) / max(done, 1) * (total - done)
        self._say(f"{text}: {done}/{total}, {duration_text(left_s)} left")

    def end(self) -> None:
        """End the line, so that later output begins a new one."""
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
