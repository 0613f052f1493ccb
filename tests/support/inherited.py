"""What a test run inherits from nohup, cron, a background job or a container, undone.

The programs that it starts inherit that, too, and would be judged by it.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

# Python ignores these itself, and subprocess gives their defaults to children.
_OF_PYTHON = {signal.SIGPIPE, signal.SIGXFSZ}


def shed() -> None:
    """Let the programs that this process starts begin as those of a shell do.

    Signals have their default effect and none is blocked, new files are readable by all, programs
    of administrators are found, the standard files are open, and the kernel may kill the programs
    when memory runs out. A signal that this process had ignored still does not end it, except
    Ctrl-C.
    """
    for number in signal.valid_signals() - _OF_PYTHON:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _ignore)  # a program does not inherit a handler
    if signal.getsignal(signal.SIGINT) is _ignore:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.umask(0o022)
    os.environ["PATH"] = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    for descriptor in range(3):
        _open_if_closed(descriptor)
    with suppress(OSError):  # lowering it needs root
        Path("/proc/self/oom_score_adj").write_text("0")


def _ignore(_number: int, _frame: object) -> None:
    pass


def _open_if_closed(descriptor: int) -> None:
    try:
        os.fstat(descriptor)
    except OSError:
        os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest number that is free
