"""One board of a fleet: a process that opens its bench, and makes the runs that it is sent.

    python -m foreread.benches.process     (with a BoardTask on standard input: boards.py)

Signals reach Python's main thread alone, and a bench restores its settings there. So each board has
a process of its own, with the clean-up of a command for one board; the process ends by SIGTERM if
its parent is killed. Parent and process exchange pickled objects.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from types import FrameType
from typing import Any, BinaryIO

from foreread.benches.messages import BoardTask, Link, Message, Out
from foreread.boards.base.guard import die_with_parent
from foreread.boards.base.interrupts import Interrupted, orderly_exit
from foreread.error import ERRORS


def main() -> None:
    """Serve until the input ends."""
    die_with_parent(signal.SIGTERM)
    replies = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # nothing that a command prints is taken for a reply
    try:
        with orderly_exit():
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, _FirstSignal.raised)
            _serve(pickle.load(sys.stdin.buffer), sys.stdin.buffer, replies)
    except (KeyboardInterrupt, Interrupted, BrokenPipeError, EOFError):
        sys.exit(1)  # the parent says why


class _FirstSignal:
    """The signal that ends this process; others that come during its clean-up are too late.

    Ctrl-C goes to the command, too, which then sends SIGTERM. It also does so to a process that it
    has ended by closing the pipe, if its clean-up takes a while.
    """

    came = False

    @classmethod
    def raised(cls, number: int, _frame: FrameType | None) -> None:
        """Raise the exception of the first signal."""
        if not cls.came:
            cls.came = True
            raise KeyboardInterrupt if number == signal.SIGINT else Interrupted(number)


def _serve(task: BoardTask, requests: BinaryIO, replies: BinaryIO) -> None:
    def send(message: Message) -> None:
        replies.write(pickle.dumps(message))

    def receive() -> Any:
        try:
            return pickle.load(requests)
        except EOFError:
            _FirstSignal.came = True
            raise

    try:
        task.serve(Link(receive, send))
    except EOFError:
        return
    except ERRORS as error:
        send(Out(str(error), getattr(error, "remedy", "")))


if __name__ == "__main__":
    main()
