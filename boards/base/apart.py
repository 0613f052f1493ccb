"""Open and close files without losing this process's locks on them.

Closing any descriptor of a file drops all locks of fcntl(2) that the process holds on it. That
includes the locks of a library: SQLite may have a TUNING file open here, or a database of the
program that uses foreread. Another process then finds the database unused, and truncates its shared
memory. The locks belong to the table of descriptors (fl_owner, fs/locks.c), so a thread with a
table of its own drops none.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from threading import Thread
from typing import TypeVar

_CLONE_FILES = 0x400  # <linux/sched.h>
_LIBC = ctypes.CDLL(None)
_Made = TypeVar("_Made")


def apart(make: Callable[[], _Made]) -> _Made:
    """Return the result of ``make``, called in a thread with its own descriptor table.

    For files that this process or one of its libraries may have open. Descriptors that ``make``
    opens are closed when ``make`` returns. /proc/self/fd lists the process's table, not the
    thread's. Where a container forbids unshare(2), ``make`` uses the process's table: such a
    container forbids dropping caches, too.
    """
    results: list[_Made] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            _LIBC.unshare(_CLONE_FILES)
            results.append(make())
        except BaseException as error:
            failed.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        thread.join()
    finally:
        thread.join()  # its table keeps pipes and locks open that the caller is about to close
    if failed:
        raise failed[0]
    return results[0]
