"""The callback of callers that do not want to hear of steps or progress."""

from __future__ import annotations


def silent(*_said: object) -> None:
    """Say nothing."""
