"""Waiting for a condition, for as long as the running test may still take.

pytest-timeout limits each test. conftest.py hands that limit over before each test, and waits end
some time before it, so that a wait's own message and the test's teardown come first. Processes that
a test starts inherit the end: they wait no longer either.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from reprlib import Repr
from typing import TypeVar

_T = TypeVar("_T")
_ENDS = "FOREREAD_TEST_ENDS"  # in the environment: when waits end, in seconds of CLOCK_MONOTONIC
_BODY, _WHOLE = 0.8, 0.95  # shares of a test's limit, before and in its teardown
_OTHERS_S = 3600.0
_UNLIMITED_S = 1800.0  # for a wait where nothing limits the test: emulated boards
_SHORTEST_PAUSE_S, _LONGEST_PAUSE_S = 0.0005, 0.1
_LONGEST_SHOWN = 2000  # characters
_shortened = Repr()
_shortened.maxother = _shortened.maxstring = 300


class Limit:
    """The limit of a test that begins now: all waits end before it."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s, self._begun = limit_s, time.monotonic()
        os.environ[_ENDS] = str(self._begun + _BODY * limit_s)

    def tear_down(self) -> None:
        """Let waits of the teardown use the time that was kept for it."""
        kept_s = (_WHOLE - _BODY) * self._limit_s
        ends = max(self._begun + _WHOLE * self._limit_s, time.monotonic() + kept_s)
        os.environ[_ENDS] = str(ends)


_restarts: list[Callable[[float | None], None]] = []  # of the running test, if it has a limit


def limit_restarts(restart: Callable[[float | None], None]) -> None:
    """Say how the limit of the running test begins anew, with as many seconds or its own."""
    _restarts[:] = [restart]


def forget_limit() -> None:
    """Forget the limit of a test that has ended: the next one may have none."""
    os.environ.pop(_ENDS, None)
    _restarts.clear()


@contextmanager
def others_work() -> Iterator[None]:
    """Within it, what others do takes time, up to an hour; the test's own limit begins after it."""
    for restart in (restarts := list(_restarts)):
        restart(_OTHERS_S)
    try:
        yield
    finally:
        for restart in restarts:
            restart(None)


def left_s() -> float:
    """Return for how many seconds the running test may wait, 0.0 if it waited too long already."""
    if _ENDS not in os.environ:
        return _UNLIMITED_S
    return max(0.0, float(os.environ[_ENDS]) - time.monotonic())


def wait_until(
    condition: Callable[[], _T],
    shown: Callable[[], object] | None = None,
    within_s: float | None = None,
) -> _T:
    """Return what the condition gives once it is true; fail if it never is.

    ``shown``: what the message of the failure shows besides. ``within_s``: a limit that is shorter
    than the test's, where that is the meaning of the test.
    """
    wait = _Wait(condition, shown, left_s() if within_s is None else min(within_s, left_s()))
    while not (value := condition()):
        time.sleep(wait.pause_s())
    return value


async def wait_in_loop(
    condition: Callable[[], _T], pause: Callable[[float], Awaitable[object]] = asyncio.sleep
) -> _T:
    """Do as :func:`wait_until` in an event loop, which ``pause`` lets go on."""
    wait = _Wait(condition, None, left_s())
    while not (value := condition()):
        await pause(wait.pause_s())
    return value


class _Wait:
    """One wait: how long to pause after a look that found nothing, and its end."""

    def __init__(
        self,
        condition: Callable[[], object],
        shown: Callable[[], object] | None,
        limit_s: float,
    ) -> None:
        self._condition, self._shown = condition, shown
        self._begun = self._looks = time.monotonic()
        self._ends = self._begun + limit_s

    def pause_s(self) -> float:
        """Return how long to pause; fail when there is no time left."""
        now = time.monotonic()
        waited_s = now - self._begun
        if now >= self._ends:
            last = f"; last: {str(self._shown())[-_LONGEST_SHOWN:]}" if self._shown else ""
            raise AssertionError(f"not true after {waited_s:.1f} s: {_text(self._condition)}{last}")
        # What comes soon is noticed soon, and looks that start a program leave time for others.
        pause_s = max(now - self._looks, waited_s / 10, _SHORTEST_PAUSE_S)
        pause_s = min(pause_s, _LONGEST_PAUSE_S, self._ends - now)
        self._looks = now + pause_s
        return pause_s


def random_moment(rng: Random, most_s: float, least_s: float = 0.0) -> None:
    """Let a process come to any step of its work; the test kills it there and holds at each."""
    time.sleep(rng.uniform(least_s, most_s))


def take_time(seconds: float) -> None:
    """Take as long as what a stand-in stands for; no test waits by this."""
    time.sleep(seconds)


def has_text(file: Path) -> bool:
    """Return whether another process has written to a file: at first it is empty."""
    return file.exists() and bool(file.read_text().strip())


def _text(condition: Callable[[], object]) -> str:
    """Return the code of a condition and the values that it looks at, on one line."""
    if not inspect.isfunction(condition):
        return _shortened.repr(condition)
    code = condition.__qualname__
    if code.endswith("<lambda>"):
        with suppress(OSError):  # not from a file
            code = " ".join(inspect.getsource(condition).split())
    values = inspect.getclosurevars(condition).nonlocals
    named = [f"{name}={_shortened.repr(value)}" for name, value in values.items()]
    return f"{code} (with {', '.join(named)})" if named else code
