"""Looks at a running command at intervals: its control groups, its memory."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol

_FIRST_S, _LONGEST_S = 0.004, 0.05  # between two looks; a start may last less than a second


class Watcher(Protocol):
    """What is looked at."""

    def look(self) -> None:
        """Look once."""


class Watching(threading.Thread):
    """Has watchers look, at growing intervals, for the length of a ``with`` block."""

    def __init__(self, watchers: Sequence[Watcher]) -> None:
        super().__init__(name="foreread-watching", daemon=True)
        self._watchers = watchers
        self._over = threading.Event()

    def __enter__(self) -> Watching:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        """Look until the block ends."""
        pause_s = _FIRST_S
        while True:
            for watcher in self._watchers:
                watcher.look()
            if self._over.wait(pause_s):
                return
            pause_s = min(2 * pause_s, _LONGEST_S)
