"""The recorded command: forked, held just before its exec, released, ended.

It is forked before the caches are dropped, so that the fork is not part of the run.
It leads a session of its own, so that Ctrl-C reaches foreread and not the command, and foreread
adopts its orphans (PR_SET_CHILD_SUBREAPER, Linux 3.4), so that daemons are found again.
"""

from __future__ import annotations

import contextlib
import ctypes
import grp
import os
import pwd
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from foreread.boards.base.guard import die_with_parent
from foreread.boards.base.owner import MARK, owner_tag
from foreread.tracer.error import RecordError
from foreread.tracer.runs.options import Ended, Streams

_PR_SET_CHILD_SUBREAPER = 36
_EXEC_FAILED = 127


class HeldCommand:
    """A process that is ready to exec ``command`` and waits for :meth:`release`.

    ``user`` is the account it runs as; ``start_ns`` is CLOCK_MONOTONIC at its release. Leaving
    the ``with`` block ends it if it is still held. ``mark``: name foreread as the owner in its
    environment, so that it is ended if foreread is killed.
    """

    def __init__(
        self,
        command: list[str],
        executable: Path,
        cwd: Path,
        user: str | None = None,
        streams: Streams | None = None,
        mark: bool = False,
    ) -> None:
        account = _account(user)
        self._status: int | None = None
        self._gate, self._error = os.pipe(), os.pipe()
        owner = {MARK: owner_tag()} if mark else {}
        self.pid = os.fork()
        if self.pid == 0:
            self._be_child(command, executable, cwd, account, streams or Streams(), owner)
        os.close(self._gate[0])
        os.close(self._error[1])
        self.released = False
        self.start_ns = 0

    def __enter__(self) -> HeldCommand:
        return self

    def __exit__(self, *_: object) -> None:
        self._close_gate()
        if not self.released:
            os.waitpid(self.pid, 0)  # the closed gate made it exit
        os.close(self._error[0])

    def release(self) -> None:
        """Let it exec, noting ``start_ns`` just before. RecordError if exec fails."""
        self.start_ns = time.monotonic_ns()
        self.released = True
        with contextlib.suppress(BrokenPipeError):  # it has failed already, and says why below
            os.write(self._gate[1], b"x")
        self._close_gate()
        reason = os.read(self._error[0], 16)  # end of file once exec has closed it
        if reason:
            _, self._status = os.waitpid(self.pid, 0)
            message = os.strerror(int(reason))
            raise RecordError(f"the command cannot be executed: {message}", "run it by hand first")

    def poll(self) -> Ended | None:
        """Return how the first process ended, None while it runs."""
        if self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid == 0:
                return None
            self._status = status
        if os.WIFSIGNALED(self._status):
            return Ended(None, os.WTERMSIG(self._status))
        return Ended(os.WEXITSTATUS(self._status), None)

    def _close_gate(self) -> None:
        if self._gate[1] >= 0:
            os.close(self._gate[1])
            self._gate = (-1, -1)

    def _be_child(
        self,
        command: list[str],
        executable: Path,
        cwd: Path,
        account: pwd.struct_passwd | None,
        streams: Streams,
        owner: dict[str, str],
    ) -> None:
        """Prepare, wait at the gate, exec; never returns."""
        try:
            # Close all of foreread's descriptors; above all the journal's lock must end with
            # foreread.
            _close_all_but({0, 1, 2, self._gate[0], self._error[1], streams.stdout, streams.stderr})
            environment = _prepare_child(cwd, account, streams) | owner
            # A rehearsal: our own code up to exec touches its pages now, not in the run.
            with contextlib.suppress(OSError):
                os.execve("", command, environment)
            if owner:
                die_with_parent(signal.SIGTERM)
            if os.read(self._gate[0], 1):
                os.execve(executable, command, environment)
        except OSError as error:
            os.write(self._error[1], str(error.errno).encode())
        finally:
            os._exit(_EXEC_FAILED)


def _close_all_but(kept: set[int]) -> None:
    for descriptor in {int(entry.name) for entry in Path("/proc/self/fd").iterdir()} - kept:
        with contextlib.suppress(OSError):  # the descriptor that listed the directory is closed
            os.close(descriptor)


def _prepare_child(
    cwd: Path, account: pwd.struct_passwd | None, streams: Streams
) -> dict[str, str]:
    """Give this process the state that the command expects; return its environment."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores some, and exec keeps that
    os.setsid()
    os.chdir(cwd)
    os.dup2(streams.stdout, 1)
    os.dup2(streams.stderr, 2)
    environment = dict(os.environ)
    if account:
        os.setgroups(os.getgrouplist(account.pw_name, account.pw_gid))
        os.setgid(account.pw_gid)
        os.setuid(account.pw_uid)
        environment |= {
            "HOME": account.pw_dir,
            "USER": account.pw_name,
            "LOGNAME": account.pw_name,
        }
    return environment


def _account(user: str | None) -> pwd.struct_passwd | None:
    if user is None:
        return None
    try:
        account = pwd.getpwnam(user)
        grp.getgrgid(account.pw_gid)
    except KeyError as error:
        raise RecordError(
            f"there is no user {user!r}", "the users are listed in /etc/passwd"
        ) from error
    return account


@contextlib.contextmanager
def adopting_orphans() -> Iterator[None]:
    """Make foreread the parent of orphaned descendants for the length of the block."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def children() -> set[int]:
    """Return the pids of this process's children, zombies included."""
    me = os.getpid()
    return {pid for pid, process in _processes().items() if process.parent == me}


def descendants(first: int, not_ours: set[int]) -> set[int]:
    """Return the living processes of the command: its session, and its descendants.

    Children of foreread that are not in ``not_ours`` are orphans of the command.
    """
    processes = {pid: process for pid, process in _processes().items() if process.alive}
    me = os.getpid()
    own = {
        pid
        for pid, process in processes.items()
        if process.session == first or (process.parent == me and pid not in not_ours)
    }
    return _with_descendants(own, processes)


def _with_descendants(family: set[int], processes: dict[int, _Process]) -> set[int]:
    while more := {p for p, process in processes.items() if process.parent in family} - family:
        family = family | more
    return family


def terminate(first: int, not_ours: set[int], grace_s: float) -> bool:
    """End the command's processes: SIGTERM, after ``grace_s`` SIGKILL; return if any was left."""
    left = bool(descendants(first, not_ours))
    for number, patience_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, 2.0)):
        _signal_all(descendants(first, not_ours), number)
        deadline = time.monotonic() + patience_s
        while descendants(first, not_ours) and time.monotonic() < deadline:
            time.sleep(0.01)
    _reap(children() - not_ours - {first})
    return left


def _signal_all(pids: set[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _reap(pids: set[int]) -> None:
    """Reap adopted orphans, which have no other parent."""
    for pid in pids:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


@dataclass(frozen=True)
class _Process:
    """State, parent and session of a process from /proc/PID/stat (proc(5), fields 3, 4 and 6)."""

    alive: bool  # and no zombie
    parent: int
    session: int


def _processes() -> dict[int, _Process]:
    """Return all processes by pid."""
    processes = {}
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            words = (directory / "stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        processes[int(directory.name)] = _Process(
            alive=words[0] not in (b"Z", b"X"), parent=int(words[1]), session=int(words[3])
        )
    return processes
