"""Kernels with a readahead that was compared with the emulation, and the results.

A profile has the results of its board. Predictions read the list of this user: $XDG_STATE_HOME, or
~/.local/state, foreread/judged-kernels.json.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from foreread.boards.base.document import Document, encode, read_document
from foreread.boards.base.written import write_whole
from foreread.boards.cost import Amount, Count, Part, Text
from foreread.boards.error import BoardsError

_MOST = 200  # kernels in the list; the oldest are dropped
_WINDOWS = Annotated[list[Amount], Meta(max_length=100)]


class JudgedKernel(Part, frozen=True, kw_only=True):
    """One comparison: ``programs`` ran on this kernel at each of ``windows_kb``.

    ``release``, ``version`` and ``machine`` are ``uname`` -r, -v and -m. ``difference`` says where
    the kernel first read differently from the emulation, empty if nowhere.
    """

    result: Literal["confirmed", "different"]
    date: Text
    foreread: Text
    release: Text
    version: Text
    machine: Text
    page_size: Count
    file_system: Text
    programs: Count
    windows_kb: _WINDOWS
    requests_compared: bool
    difference: Annotated[str, Meta(max_length=4000)] = ""

    @property
    def is_of(self) -> tuple[str, str, str, int, str]:
        """The identity of the kernel: a later judgement replaces an earlier one with the same."""
        return self.release, self.version, self.machine, self.page_size, self.file_system


class JudgedError(BoardsError, ValueError):
    """A list of judged kernels that cannot be read; ``remedy`` says what to do."""


class _List(Document, frozen=True, kw_only=True):
    kernels: list[JudgedKernel]


def list_path() -> Path:
    """Return the path of this user's list, by the XDG base directory rules."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "foreread" / "judged-kernels.json"


def judged_kernels() -> list[JudgedKernel]:
    """Return this user's list, the oldest first; empty if there is no list. Raises JudgedError."""
    path = list_path()
    remedy = f"remove it, and repeat the judgements: rm {path}"
    return read_document(path, _List, JudgedError, remedy, absent=_List(kernels=[])).kernels


def with_judged(kernels: Sequence[JudgedKernel], new: JudgedKernel) -> list[JudgedKernel]:
    """Return the list with a judgement added, which replaces an earlier one of the same kernel."""
    kernel = [kernel for kernel in kernels if kernel.is_of != new.is_of]
    return [*kernel, new][-_MOST:]


def prepare_list() -> None:
    """Raise JudgedError or OSError if a judgement could not be stored."""
    judged_kernels()
    folder = list_path().parent
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))


def store(new: JudgedKernel) -> Path:
    """Add a judgement to this user's list; return its path. Raises JudgedError, OSError."""
    path = list_path()
    kernels = with_judged(judged_kernels(), new)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, f"{encode(_List(kernels=kernels), indent=1)}\n".encode())
    return path
