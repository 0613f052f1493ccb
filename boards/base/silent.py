"""The callback of callers that need no report of steps or progress."""

from __future__ import annotations


def silent(*_words: object) -> None:
    """Ignore the words."""
