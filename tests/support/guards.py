"""The guards among the children of a process, for tests that kill them."""

from __future__ import annotations

from pathlib import Path

from foreread.boards.base.guard import is_guard


def guards_of(pid):
    return [one for one in _children(pid) if is_guard(one)]


def _children(pid):
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(one) for one in listed.split()]
