"""Runs a reader of foreign files in a process of its own, with limits on memory and time.

docs/decisions/ has the reasons (foreign files in a child process). The process is a fork where this
one has no other Python thread, else a new interpreter: another thread may hold a lock that a fork
would wait for.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import pickle
import select
import signal
import socket
import sys
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from foreread.analyzer.ingest import allowance, child, handed_over
from foreread.analyzer.ingest.recording import Recording, TraceError
from foreread.analyzer.ingest.tables import Array
from foreread.boards.base.forked import fork
from foreread.tracer.formats.limits import MOST_TRACE_BYTES

METHOD = "FOREREAD_READER"  # fork or spawn, in place of the choice by threads
_SPAWNED = """\
import sys
sys.path[:] = sys.argv[1:]
from foreread.analyzer.ingest.child import main
main()
"""
_DYING_S = 10.0  # from the end of its channel to its own
_ROOMS = ("foreread.analyzer.", "foreread.tracer.", "foreread.boards.")
_DAMAGED = "the file is damaged, or made to exhaust the reader: copy it again, or record again"
_BUG = "copy the file again, or record again; if it is intact, report the bug with the file"


class _ReaderTraceback(Exception):
    """The traceback of the other process, as the cause of an error."""


def call(function: Callable[..., Any], path: Path, *arguments: object) -> Any:
    """Return ``function(path, *arguments)``, run in a process with limits.

    The function is a module's own, so that another interpreter finds it. A Recording's
    ``read_fields`` is answered by the process, which lives as long as the Recording. Raises what
    the function does, and TraceError if the process crashed or exceeded its limits. In a process
    that is limited already the function is called directly.
    """
    if allowance.is_limited():
        return function(path, *arguments)
    reader = _Reader(function, path, arguments)
    try:
        answer = reader.receive()
    except BaseException:
        reader.end()
        raise
    if not answer.has_fields:
        reader.end()
        return answer.value
    recording: Recording = answer.value
    return replace(recording, trace=replace(recording.trace, read_fields=reader.fields))


class _Ends(NamedTuple):
    """One side of the connection: messages, and a pipe that shows the caller's end of life."""

    channel: socket.socket
    lifeline: io.FileIO

    def close(self) -> None:
        self.channel.close()
        self.lifeline.close()


class _Reader:
    """The process, as its caller has it; it is ended with this object."""

    def __init__(
        self, function: Callable[..., Any], path: Path, arguments: tuple[object, ...]
    ) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._owner = os.getpid()
        channels = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        watched, held = os.pipe()
        ours = _Ends(channels[0], io.FileIO(held, "wb"))
        theirs = _Ends(channels[1], io.FileIO(watched, "rb"))
        self._ours, self._channel = ours, ours.channel
        try:
            with theirs.channel, theirs.lifeline:
                self._pid = _start(theirs, self._channel, (function, (path, *arguments)))
        except OSError as error:
            ours.close()
            raise TraceError(
                f"{path} cannot be read: no process can be started for it: {error.strerror}",
                "end other processes, or raise the limit of processes (ulimit -u)",
            ) from error
        self.end = weakref.finalize(self, _end, self._pid, ours, self._owner)

    def fields(self, name: str, fields: tuple[str, ...]) -> dict[str, Array]:
        """Trace.read_fields of the recording that the process has read."""
        if os.getpid() != self._owner:
            raise TraceError(
                f"{self._path} was loaded by another process", "load it again in this process"
            )
        with self._lock:
            try:
                with contextlib.suppress(OSError):  # its death shows when the answer is received
                    self._channel.send(pickle.dumps((name, fields)))
                columns: dict[str, Array] = self.receive().value
            except TraceError:
                raise
            except BaseException:
                self.end()  # an answer that comes later would be taken for another one
                raise
            return columns

    def receive(self) -> child.Answer:
        """Return the process's answer; raises the error in it, or TraceError if there is none."""
        if not self.end.alive:
            raise TraceError(f"the reader of {self._path} has ended", "load the capture again")
        self._wait()
        try:
            answer: child.Answer = handed_over.receive(self._channel)
        except (EOFError, OSError) as error:
            raise self._crashed() from error
        except ValueError as error:
            self.end()
            raise TraceError(f"the reader of {self._path} returned {error}", _BUG) from error
        if answer.error is not None:
            raise _error_of(answer, self._path)
        return answer

    def _wait(self) -> None:
        seconds = allowance.wall_seconds(min(_size(self._path), MOST_TRACE_BYTES))
        deadline = time.monotonic() + seconds
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        while not poll.poll(1000 * max(deadline - time.monotonic(), 0)):
            if time.monotonic() >= deadline:
                self.end()
                raise TraceError(f"{self._path} was not read within {seconds} s", _DAMAGED)

    def _crashed(self) -> TraceError:
        """Return the error that says how the process ended."""
        with contextlib.suppress(ChildProcessError):  # another part of the program waited for it
            status = self._status()
            self.end.detach()
            self._ours.close()
            if os.WIFSIGNALED(status):
                return _killed(self._path, signal.Signals(os.WTERMSIG(status)))
        return TraceError(f"the reader of {self._path} ended without a result", _BUG)

    def _status(self) -> int:
        """Return how the process ended; one that lives on after a damaged answer is ended."""
        deadline = time.monotonic() + _DYING_S
        while time.monotonic() < deadline:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                return status
            time.sleep(0.001)
        os.kill(self._pid, signal.SIGKILL)
        return os.waitpid(self._pid, 0)[1]


def _killed(path: Path, number: signal.Signals) -> TraceError:
    if number == signal.SIGXCPU:
        return TraceError(f"{path} took more CPU time than a good capture of its size", _DAMAGED)
    if number == signal.SIGKILL:
        return TraceError(
            f"the reader of {path} was killed, as the kernel does when memory is short",
            "free memory, and try again",
        )
    return TraceError(f"the reader crashed on {path} ({number.name})", _BUG)


def _end(pid: int, ours: _Ends, owner: int) -> None:
    """End the process; a fork of its caller leaves it alone."""
    if os.getpid() != owner:
        return
    ours.close()
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _start(theirs: _Ends, ours: socket.socket, work: child.Work) -> int:
    method = os.environ.get(METHOD)
    if method == "spawn" or (method != "fork" and threading.active_count() > 1):
        return _spawn(theirs, ours, work)
    pid = fork()
    if pid == 0:
        child.run(theirs.channel, theirs.lifeline.fileno(), lambda: work)
    return pid


def _spawn(theirs: _Ends, ours: socket.socket, work: child.Work) -> int:
    arguments = [sys.executable, "-c", _SPAWNED, *(str(Path(at).absolute()) for at in sys.path)]
    # Numbers above those in the child: else the first copy could overwrite the second one.
    above = [
        fcntl.fcntl(end.fileno(), fcntl.F_DUPFD_CLOEXEC, child.LIFELINE + 1)
        for end in (theirs.channel, theirs.lifeline)
    ]
    try:
        pid = os.posix_spawn(
            sys.executable,
            arguments,
            os.environ,
            file_actions=[
                *((os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1)),
                (os.POSIX_SPAWN_DUP2, above[0], child.CHANNEL),
                (os.POSIX_SPAWN_DUP2, above[1], child.LIFELINE),
            ],
        )
    finally:
        for descriptor in above:
            os.close(descriptor)
    ours.send(pickle.dumps(work))
    return pid


def _error_of(answer: child.Answer, path: Path) -> Exception:
    """Return the exception that the process raised, with its traceback as the cause."""
    assert answer.error is not None
    error = _made(*answer.error, path)
    error.__cause__ = _ReaderTraceback(f"\n{answer.trace}")
    return error


def _made(module: str, name: str, arguments: tuple[Any, ...], path: Path) -> Exception:
    if (module, name) == ("builtins", "OSError"):
        return OSError(*arguments)
    if len(arguments) == 2 and module.startswith(_ROOMS):  # a message and its remedy
        kind = getattr(import_module(module), name)
        error: Exception = kind(*arguments)
        return error
    if name.endswith("MemoryError"):
        return TraceError(f"{path} takes more memory than a good capture of its size", _DAMAGED)
    return TraceError(f"the reader failed on {path} ({name}: {arguments[0]})", _BUG)


def _size(path: Path) -> int:
    """Return the bytes of a file, or of a directory's files of pages."""
    try:
        if path.is_dir():
            return sum(file.stat().st_size for file in path.glob("trace/*") if file.is_file())
        return path.stat().st_size
    except OSError:
        return 0
