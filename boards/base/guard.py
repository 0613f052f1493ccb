"""The guard: a process that puts everything back at once if foreread is killed.

It is started before the first change, in a session of its own, and waits for the end of a pipe that
only foreread holds open. Signals to foreread's process group or service do not end it. It is a
shell, which needs so little memory that the kernel takes others when there is none; when it has to
act it starts a Python, and another one if that is killed while memory is short. If the guard is
killed too, the next foreread, or ``foreread doctor --restore``, does its work.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

from foreread.boards.base.owner import is_alive, owner_tag

NAME = "foreread-guard"
_PR_SET_PDEATHSIG = 1
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGQUIT)
_DONE = b"."
_EXIT_S = 30.0
# A shell may clear the mask of signals when it waits for a process.
_WAIT = """\
trap '' INT TERM HUP PIPE QUIT
cd /
{ echo -1000 >/proc/self/oom_score_adj; } 2>/dev/null
read -r answer
[ "$answer" != . ] || exit 0
tries=0
while "$@"; [ $? -ge 128 ] && [ $tries -lt 20 ]; do
    tries=$((tries + 1))
    sleep 0.5
done
"""
_ACT = """\
import sys
sys.path[:] = sys.argv[4:]
from foreread.boards.base.guard import recover
recover(sys.argv[2].split(), sys.argv[3])
"""
_LIBC = ctypes.CDLL(None)
_recoveries: list[str] = []
_lock = threading.RLock()  # a finalizer may run in a block that holds it


class _Running:
    """The one guard of this process, and how many blocks want it."""

    users = 0
    pid = -1  # of the guard
    of = -1  # the process that started it: a forked child has none
    pipe = -1


def recovers(recovery: Callable[[], object]) -> None:
    """Have guards call ``recovery``, a module's function: it undoes what dead forereads left."""
    _recoveries.append(f"{recovery.__module__}:{recovery.__name__}")


def recover(names: list[str], owner: str) -> None:
    """Call the functions of these names once the owner is dead, each though another one failed.

    A killed process closes its files, the pipe among them, before it counts as dead. Closing those
    of a trace takes a while, in which what it made would be taken for that of a living foreread.
    """
    until = time.monotonic() + _EXIT_S
    while is_alive(owner) and time.monotonic() < until:
        time.sleep(0.02)
    failed = None
    for module, _, name in (full_name.partition(":") for full_name in names):
        try:
            getattr(import_module(module), name)()
        except Exception as error:
            failed = error
    if failed:
        raise failed


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
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[3:4] == [NAME.encode()]
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
        if _Running.users == 1 and _recoveries and sys.executable:
            with suppress(OSError):  # no shell, or no more processes: it is as if it was killed
                _start()


def release() -> None:
    """End a block."""
    with _lock:
        _Running.users -= 1
        if _Running.users == 0 and _Running.pid > 0:
            _stop()


def _start() -> None:
    out, into = os.pipe()
    paths = [str(Path(at).absolute()) for at in sys.path]
    act = [sys.executable, "-c", _ACT, NAME, " ".join(_recoveries), owner_tag(), *paths]
    try:
        _Running.pid = os.posix_spawn(
            "/bin/sh",
            ["sh", "-c", _WAIT, NAME, *act],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, out, 0),
                *((os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (1, 2)),
                *((os.POSIX_SPAWN_CLOSE, fd) for fd in _inherited()),
            ],
            setsid=True,
            setsigmask=_IGNORED,  # blocked, which no moment of its own begins too late
        )
    except BaseException:
        os.close(into)
        raise
    finally:
        os.close(out)
    _Running.pipe = into


def _inherited() -> list[int]:
    """Return the descriptors that a program would inherit: locks, pipes that others read."""
    descriptors = []
    for descriptor in (int(entry.name) for entry in Path("/proc/self/fd").iterdir()):
        with suppress(OSError):  # the folder's own
            if descriptor > 2 and os.get_inheritable(descriptor):
                descriptors.append(descriptor)
    return descriptors


def _stop() -> None:
    with suppress(BrokenPipeError):  # it was killed
        os.write(_Running.pipe, _DONE)
    os.close(_Running.pipe)
    with suppress(ChildProcessError):
        os.waitpid(_Running.pid, 0)
    _Running.pid = _Running.pipe = -1
