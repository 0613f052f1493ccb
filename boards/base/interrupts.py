"""Signals while knobs are changed: they end foreread after all clean-ups, never during one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_ABORTING = (signal.SIGTERM, signal.SIGHUP)
_ALL = (signal.SIGINT, *_ABORTING)
_Handler = Callable[[int, FrameType | None], object]


class Interrupted(SystemExit):
    """foreread was stopped by SIGTERM or SIGHUP; every knob has been put back.

    A SystemExit and not a TracerError, so that code which continues after errors ends here.
    """

    remedy = "repeat the command; to end a recording early and keep it, press Ctrl-C"

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}; every setting was restored")


@contextmanager
def orderly_exit() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into :class:`Interrupted`, so that clean-ups run.

    Ctrl-C stays KeyboardInterrupt. An ignored SIGHUP (nohup) stays ignored. Outside the main
    thread, where Python allows no handlers, nothing is changed.
    """

    def abort(number: int, _frame: FrameType | None) -> None:
        raise Interrupted(number)

    numbers = [n for n in _ABORTING if signal.getsignal(n) is not signal.SIG_IGN]
    with _handlers(dict.fromkeys(numbers, abort)):
        yield


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Defer Ctrl-C, SIGTERM and SIGHUP until the block has ended, then deliver them.

    Handlers rather than a signal mask: another thread could take a masked signal.
    """
    held: list[int] = []

    def hold(number: int, _frame: FrameType | None) -> None:
        held.append(number)

    numbers = [n for n in _ALL if signal.getsignal(n) is not signal.SIG_IGN]
    try:
        with _handlers(dict.fromkeys(numbers, hold)):
            yield
    finally:
        for number in dict.fromkeys(held):
            signal.raise_signal(number)


@contextmanager
def _handlers(handlers: dict[signal.Signals, _Handler]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
