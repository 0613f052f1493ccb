"""Output without raw control characters, whatever a capture, a board or a file name holds.

While a command runs, stdout and stderr are streams that escape them. A text that must stay on one
line is passed to ``boards.base.printable`` first.
"""

from __future__ import annotations

import io
import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, TextIO

from foreread.boards.base.printable import printable

_PLAIN = re.compile(r"[\x20-\x7e\n\t]*")


class EscapedStream(io.TextIOBase):
    """A text stream over another one that lets no control character pass but newline and tab.

    ``buffer`` is the other one's, for the output of a user's own command.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write the text with its control characters escaped."""
        self.stream.write(text if _PLAIN.fullmatch(text) else printable(text, keep="\n\t"))
        return len(text)

    def writable(self) -> bool:
        """Return True."""
        return True

    def flush(self) -> None:
        """Flush the other stream."""
        self.stream.flush()

    def isatty(self) -> bool:
        """Return whether the other stream is a terminal."""
        return self.stream.isatty()

    def fileno(self) -> int:
        """Return the other stream's descriptor."""
        return self.stream.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a plain attribute there
        """The encoding of the other stream."""
        return self.stream.encoding

    @property
    def buffer(self) -> BinaryIO:
        """The bytes below the other stream."""
        return self.stream.buffer


def overwrite(stream: TextIO, line: str) -> None:
    """Write a line over the present one of a terminal."""
    while isinstance(stream, EscapedStream):
        stream = stream.stream
    print("\r" + printable(line), end="", file=stream, flush=True)


@contextmanager
def escaped_output() -> Iterator[None]:
    """Make stdout and stderr escaped streams; a traceback of a bug is escaped, too."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (EscapedStream(_usable(stream)) for stream in before)
    try:
        yield
    except Exception:
        sys.excepthook = _show_traceback
        raise
    finally:
        sys.stdout, sys.stderr = before


def _usable(stream: TextIO | None) -> TextIO:
    """Return the stream, able to print any text; one that is closed swallows it."""
    if stream is None:
        return Path(os.devnull).open("w")  # lasts as long as we do
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return stream


def _show_traceback(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    if sys.stderr is not None:
        text = "".join(traceback.format_exception(kind, error, trace))
        sys.stderr.write(printable(text, keep="\n\t"))
