"""The process that reads a capture for its caller, and answers for fields of its events later."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import pickle
import select
import signal
import socket
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from foreread.analyzer.ingest import allowance, handed_over
from foreread.analyzer.ingest.recording import Recording

CHANNEL, LIFELINE = 3, 4  # their numbers in a process that was spawned
_REQUEST_BYTES = 1 << 16
_O_ASYNC = 0o20000  # the os module lacks it
_IGNORED = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)  # the caller decides about those

Work = tuple[Callable[..., object], tuple[object, ...]]


@dataclass(frozen=True)
class Answer:
    """What a process returns: a value, or why there is none.

    ``has_fields``: the process stays, and reads fields of a recording's events when asked.
    ``error`` is the exception's module, name and arguments.
    """

    value: Any = None
    has_fields: bool = False
    error: tuple[str, str, tuple[Any, ...]] | None = None
    trace: str = ""


def main() -> NoReturn:
    """Run as a spawned process: the work arrives as the first message."""
    channel = socket.socket(fileno=CHANNEL)
    run(channel, LIFELINE, lambda: pickle.loads(channel.recv(_REQUEST_BYTES)))


def run(channel: socket.socket, lifeline: int, work: Callable[[], Work]) -> NoReturn:
    """Do the work within limits, answer, and serve fields until the caller has closed the channel.

    ``lifeline`` is the end for reading of a pipe that the caller has open for writing. Never
    returns, also when it fails: nothing of a forked caller must run here.
    """
    try:
        _leave_caller(channel, lifeline)
        _end_with_caller(lifeline)
        allowance.begin()
        read = _answer(channel, lambda: _done(work()))
        while read is not None and (request := channel.recv(_REQUEST_BYTES)):
            allowance.grant(0)
            reader = read
            _answer(channel, lambda: (reader(*pickle.loads(request)), None))  # noqa: B023
    except BaseException:  # the end of this process, whatever it was
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _done(work: Work) -> tuple[object, Callable[..., object] | None]:
    """Return the result, and what reads fields of its events, which cannot be handed over."""
    function, arguments = work
    result = function(*arguments)
    if not isinstance(result, Recording):
        return result, None
    return replace(result, trace=replace(result.trace, read_fields=None)), result.trace.read_fields


def _answer(
    channel: socket.socket, work: Callable[[], tuple[object, Callable[..., object] | None]]
) -> Callable[..., object] | None:
    """Send the result of the work or its error; return what reads fields."""
    read = None
    try:
        value, read = work()
        answer = Answer(value, read is not None)
        del value
    except Exception as error:  # raised again by the caller
        allowance.release()
        answer = Answer(error=_parts(error), trace=traceback.format_exc())
    allowance.release()  # the copy in which a result is handed over is not the capture's
    handed_over.send(channel, answer)
    return read


def _parts(error: Exception) -> tuple[str, str, tuple[Any, ...]]:
    kind = type(error)
    if isinstance(error, OSError):
        return "builtins", "OSError", (error.errno, error.strerror or str(error), error.filename)
    remedy = getattr(error, "remedy", None)
    return kind.__module__, kind.__qualname__, (str(error), *([remedy] if remedy else ()))


def _leave_caller(channel: socket.socket, lifeline: int) -> None:
    """Give up what a fork has inherited: handlers, open files, and objects with finalizers."""
    gc.freeze()
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        handler = signal.getsignal(number)
        if callable(handler):
            signal.signal(number, signal.SIG_DFL)
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    kept = (0, 1, 2, channel.fileno(), lifeline)
    for descriptor in [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]:
        if descriptor not in kept:
            with contextlib.suppress(OSError):  # the folder's own
                os.close(descriptor)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)


def _end_with_caller(lifeline: int) -> None:
    """Have SIGIO end this process when nobody has the lifeline open for writing any more.

    Not the channel: there a message is a SIGIO, too, which may come after its message.
    """
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, _O_ASYNC)
    if select.select([lifeline], [], [], 0)[0]:
        os._exit(1)  # it was closed before
