"""Waiting for a condition, with an end."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")
PATIENCE_S = 120.0  # far beyond what anything takes on a loaded machine


def wait_until(condition: Callable[[], _T], seconds: float = PATIENCE_S) -> _T:
    """Return what the condition gives once it is true; fail after ``seconds``."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"still not true after {seconds} s"
        time.sleep(0.01)
    return value
