"""The progress line on stderr: a terminal shows one line, a log has a line for each step."""

from __future__ import annotations

import os
from typing import TextIO

PREFIX = "foreread: "
_COLUMNS = 80  # of a terminal that does not say it, as a serial console


class ProgressLine:
    """A line that is overwritten on a terminal, and cut to its width."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.on_terminal = stream.isatty()
        self._begun = False

    def say(self, text: str, shorter: str = "") -> None:
        """Show a text; ``shorter`` replaces it on a terminal that is too narrow for it."""
        if not self.on_terminal:
            print(f"{PREFIX}{text}", file=self._stream, flush=True)
            return
        # A line as wide as the terminal would go on in the next one.
        width = (os.get_terminal_size(self._stream.fileno()).columns or _COLUMNS) - 1
        fits = len(PREFIX + text) <= width
        line = PREFIX + text if fits else shorter or text
        print(f"\r{line[:width]:<{width}}", end="", file=self._stream, flush=True)
        self._begun = True

    def end(self) -> None:
        """Leave the line as it is, if there is one, and begin a new one."""
        if self._begun:
            print(file=self._stream)
        self._begun = False
