"""Bounded reads of files that may be hostile.

Only regular files are opened, without waiting and without side effects: a pipe, a terminal or a
device may never end, /proc/kmsg and trace_pipe wait for more, and opening a watchdog starts it.
"""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from foreread.boards.base.units import size_text
from foreread.boards.error import BoardsError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Kind = TypeVar("Kind")
_BLOCK_BYTES = 1 << 20
_NOT_REGULAR = "give a regular file: copy what it holds into one"


class UnboundedError(BoardsError, ValueError):
    """A file that is not regular, or is larger than the limit of its kind."""


class _NeverWaiting(io.FileIO):
    """A file whose reads raise UnboundedError where FileIO would return None: they would wait."""

    def read(self, size: int | None = -1, /) -> bytes:
        return self.readall() if size is None or size < 0 else self._come(super().read(size))

    def readall(self) -> bytes:
        return self._come(super().readall())

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        result: int | None = super().readinto(buffer)
        return self._come(result)

    def _come(self, result: Kind | None) -> Kind:
        if result is None:
            raise UnboundedError(f"{self.name} waits for more instead of ending", _NOT_REGULAR)
        return result


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for unbuffered reads that never wait.

    Raises UnboundedError for any other kind of file, also at a read that would wait; OSError if the
    file cannot be opened.
    """
    _check_regular(path, Path(path).stat().st_mode)  # before the open, which may have effects
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    file = _NeverWaiting(path, opener=lambda name, _: os.open(name, flags))
    try:
        _check_regular(path, os.fstat(file.fileno()).st_mode)
    except UnboundedError:
        file.close()
        raise
    return file


def read_bounded(path: str | os.PathLike[str], most_bytes: int, remedy: str) -> bytes:
    """Return the content of a regular file of at most ``most_bytes`` bytes.

    The function counts the bytes that it reads, since a file of /proc or a growing file is larger
    than its stated size. Raises UnboundedError, with ``remedy`` for a file that is larger; OSError
    if it cannot be read.
    """
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size <= most_bytes:
            content = _at_most(file, most_bytes + 1)
            if len(content) <= most_bytes:
                return content
    raise UnboundedError(
        f"{Path(path)} is larger than the {size_text(most_bytes)} that are read of such a file",
        remedy,
    )


def _check_regular(path: str | os.PathLike[str], mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = "a directory" if stat.S_ISDIR(mode) else "a pipe, socket or device"
        raise UnboundedError(f"{Path(path)} is {kind}, not a regular file", _NOT_REGULAR)


def _at_most(file: BinaryIO, most_bytes: int) -> bytes:
    """Return the content of the file, cut at ``most_bytes``."""
    blocks = []
    while most_bytes > 0 and (block := file.read(min(most_bytes, _BLOCK_BYTES))):
        blocks.append(block)
        most_bytes -= len(block)
    return b"".join(blocks)
