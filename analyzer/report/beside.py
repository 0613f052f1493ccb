"""Work in a fork of this process, on another processor, while this process goes on."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from foreread.boards.base.forked import fork


@contextmanager
def beside(work: Callable[[], None]) -> Iterator[None]:
    """Run ``work``, which writes files, while the body of the ``with`` statement runs.

    A fork runs it where there is a second processor and no other Python thread, which could hold a
    lock; else, and where the fork fails, this process runs it after the body.
    """
    pid = _forked(work)
    try:
        yield
    except BaseException:
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        raise
    if not pid or os.waitpid(pid, 0)[1]:
        work()  # it raises here what it raised in the fork


def _forked(work: Callable[[], None]) -> int:
    """Return the process that runs ``work``; 0 if there is none."""
    if threading.active_count() > 1 or len(os.sched_getaffinity(0)) < 2:
        return 0
    try:
        pid = fork()
    except OSError:
        return 0
    if pid:
        return pid
    status = 1
    try:
        work()
        status = 0
    finally:
        os._exit(status)
