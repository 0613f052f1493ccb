"""Run a reader on hostile input in a child process, so that a crash is a failed test only."""

from __future__ import annotations

import math
import os
import signal
import traceback
from collections.abc import Callable
from pathlib import Path

from waiting import left_s


def outcome_in_child(action: Callable[[], object]) -> str:
    """Return "ok", "TraceError", or how it failed: the traceback, or the signal it died of."""
    return text_from_child(lambda: _outcome(action))


def text_from_child(action: Callable[[], str]) -> str:
    """Return what the action returns in a child process, or how the child failed."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(math.ceil(left_s()) or 1)
        _report(action, write_end)
    os.close(write_end)
    with os.fdopen(read_end) as answer:
        text = answer.read()
    _, status = os.waitpid(child, 0)
    return text if text else f"died: status {os.waitstatus_to_exitcode(status)}"


def _outcome(action: Callable[[], object]) -> str:
    try:
        action()
    except Exception as error:
        if type(error).__name__ == "TraceError" and getattr(error, "remedy", ""):
            return "TraceError"
        raise
    return "ok"


def _report(action: Callable[[], str], fd: int) -> None:
    text = ""
    try:
        text = action()
    except Exception:
        text = traceback.format_exc()
    finally:
        os.write(fd, text.encode())
        os._exit(0)


def keep(tmp_path: Path, data: bytes) -> Path:
    """Write an input to a file before it is read: a crash must not lose it."""
    path = tmp_path / "input"
    path.write_bytes(data)
    return path
