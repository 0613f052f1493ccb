"""The lock of this machine's settings: tests wait for a foreread that holds it, as commands do."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from waiting import others_work, wait_until

from foreread.tracer.local.journal_folder import DIRECTORY, journal_folders, make_directory

_GUARD_S = 10.0  # what a guard needs at most
_blocks: list[Callable[[], bool]] = []  # that hold it now, one in another


@contextmanager
def nobody_records() -> Iterator[Callable[[], bool]]:
    """Keep every foreread from recording: that changes the windows of all disks, drops caches.

    Yield a function that returns whether no other program has dropped the caches so far. Such
    blocks may be in one another; a recording in one would wait for its end.
    """
    make_directory(DIRECTORY)
    with (DIRECTORY / "lock").open("ab") as lock:
        if not _blocks:
            _lock(lock)
        before = _drops()
        _blocks.append(lambda: _drops() == before)
        try:
            yield _blocks[-1]
        finally:
            _blocks.pop()


def _lock(lock: BinaryIO) -> None:
    """Lock it, after the guard of a foreread that was killed has restored the knobs.

    The lock is not tried meanwhile: a guard that finds it held restores nothing.
    """
    with others_work():  # a recording may take longer than a test
        fcntl.flock(lock, fcntl.LOCK_EX)
    if not journal_folders(DIRECTORY):
        return
    fcntl.flock(lock, fcntl.LOCK_UN)
    with suppress(AssertionError):  # that guard was killed, too: nobody restores them for now
        wait_until(lambda: not journal_folders(DIRECTORY), within_s=_GUARD_S)
    fcntl.flock(lock, fcntl.LOCK_EX)


def _drops() -> str:
    """Return how often the page cache of this machine was dropped."""
    lines = Path("/proc/vmstat").read_text().splitlines()
    return next(line for line in lines if line.startswith("drop_pagecache "))
