"""One board of a fleet: a process that opens its bench, and makes the runs that it is sent.

    python -m foreread.board_process     (with a Task on standard input: boards_at_work.py)

Signals reach Python's main thread alone, and what a bench has changed is put back there. So each
board has a process of its own, with the clean-up that a command for one board has; it ends by
SIGTERM if its parent is killed. Both ends are ours, and talk in pickled objects.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Callable
from functools import partial
from typing import BinaryIO

from analyzer.tuner.campaign.attempts import Due, evaluated
from boards.guard import die_with_parent
from foreread.board_messages import Back, Made, Message, Opened, Out, Task, Told
from foreread.error import ERRORS
from foreread.evaluator import TrialEvaluator
from foreread.tuning import board_of, space_on
from tracer.interrupts import Interrupted, orderly_exit


def main() -> None:
    """Serve until the input ends."""
    die_with_parent(signal.SIGTERM)
    replies = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # nothing that a command prints is taken for a reply
    try:
        with orderly_exit():
            _serve(pickle.load(sys.stdin.buffer), sys.stdin.buffer, replies)
    except (KeyboardInterrupt, Interrupted, BrokenPipeError, EOFError):
        sys.exit(1)  # the parent says why


def _serve(task: Task, requests: BinaryIO, replies: BinaryIO) -> None:
    def send(message: Message) -> None:
        replies.write(pickle.dumps(message))

    def tell(text: str) -> None:
        send(Told(text))

    opening = partial(task.open_bench, task.asked, task.trials, tell)
    try:
        with TrialEvaluator(opening, task.asked.reset, tell) as evaluator:
            evaluator.scenarios = task.scenarios
            bench = evaluator.bench
            space = space_on(task.asked, bench, tell)
            send(Opened(board_of(task.asked, bench), space, tuple(bench.notes)))
            evaluator.space = pickle.load(requests)
            while True:
                _make(pickle.load(requests), evaluator, send)
    except EOFError:
        return
    except ERRORS as error:
        send(Out(str(error), getattr(error, "remedy", "")))


def _make(due: Due, evaluator: TrialEvaluator, send: Callable[[Message], None]) -> None:
    made = evaluated(evaluator, due, (Interrupted, KeyboardInterrupt))
    send(Made(made, evaluator.is_lost))
    if evaluator.is_lost:
        evaluator.wait_until_back()
        send(Back())


if __name__ == "__main__":
    main()
