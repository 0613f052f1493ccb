"""Clocks for tests, which stand for the module ``time`` where a test puts them."""

from __future__ import annotations

import time


class FakeClock:
    """Goes on only when what is tested sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class AheadClock:
    """The real clock, which a test sets ahead where it would wait for something to be late."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead_s
