"""The guard: a process that puts everything back at once if foreread is killed.

It is forked before the first change, in a session of its own, and waits for the end of a pipe that
only foreread holds open. Signals to foreread's process group or service do not end it. If the guard
is killed too, the next foreread, or ``foreread doctor --restore``, does its work.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

NAME = b"foreread-guard"
_PR_SET_NAME, _PR_SET_PDEATHSIG = 15, 1
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGQUIT)
_DONE = b"."
_LIBC = ctypes.CDLL(None)
_recoveries: list[Callable[[], object]] = []
_lock = threading.RLock()  # a finalizer may run in a block that holds it


class _Running:
    """The one guard of this process, and how many blocks want it."""

    users = 0
    pid = -1  # of the guard
    of = -1  # the process that forked it: a forked child has none
    pipe = -1


def recovers(recovery: Callable[[], object]) -> None:
    """Have guards call ``recovery``, which undoes all that dead forereads left."""
    _recoveries.append(recovery)


@contextmanager
def guarded() -> Iterator[None]:
    """Have a guard for the length of the block; blocks share one."""
    hold()
    try:
        yield
    finally:
        release()


def is_guard(pid: int) -> bool:
    """Return whether the process is a guard."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_bytes().strip() == NAME
    return False


def die_with_parent(number: signal.Signals = signal.SIGKILL) -> None:
    """End this process, a forked child of foreread, by a signal when foreread is killed.

    That holds after an exec, too, unless it changes the user.
    """
    parent = os.getppid()
    _LIBC.prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def hold() -> None:
    """Begin a block as :func:`guarded` has it."""
    with _lock:
        if _Running.of != os.getpid():
            _Running.users, _Running.of = 0, os.getpid()
        _Running.users += 1
        if _Running.users == 1 and _recoveries:
            _start()


def release() -> None:
    """End a block."""
    with _lock:
        _Running.users -= 1
        if _Running.users == 0 and _Running.pid > 0:
            _stop()


def _start() -> None:
    out, into = os.pipe()
    with _blocked():  # until the guard ignores them
        pid = os.fork()
        if pid == 0:
            _be_guard(out)
    os.close(out)
    _Running.pid, _Running.pipe = pid, into


def _stop() -> None:
    with suppress(BrokenPipeError):  # it was killed
        os.write(_Running.pipe, _DONE)
    os.close(_Running.pipe)
    with suppress(ChildProcessError):
        os.waitpid(_Running.pid, 0)
    _Running.pid = _Running.pipe = -1


@contextmanager
def _blocked() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _IGNORED)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _be_guard(pipe: int) -> None:
    """Wait for the end of foreread; recover unless it was orderly. Never returns."""
    status = 1
    try:
        for number in _IGNORED:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.setsid()
        _LIBC.prctl(_PR_SET_NAME, NAME, 0, 0, 0)
        with suppress(OSError):  # it needs no memory, and frees what others hold
            Path("/proc/self/oom_score_adj").write_text("-1000")
        os.chdir("/")
        _close_all_but(pipe)
        if os.read(pipe, 1) != _DONE:
            for recovery in _recoveries:
                recovery()
        status = 0
    finally:
        os._exit(status)


def _close_all_but(pipe: int) -> None:
    """Close foreread's descriptors: the locks it holds, and the pipes that others read."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    for descriptor in {int(entry.name) for entry in Path("/proc/self/fd").iterdir()}:
        if descriptor not in (0, 1, 2, pipe):
            with suppress(OSError):
                os.close(descriptor)
