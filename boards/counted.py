"""Numbers of things in messages: "1 page", "2 pages", "1 page was", "2 pages were"."""

from __future__ import annotations

_VERBS = {"was": "were", "is": "are", "has": "have"}


def plural(number: int, noun: str, verb: str = "") -> str:
    """Return ``1 page`` or ``2 pages``; with ``verb`` (was, is, has) also that in its number."""
    one = number == 1
    noun = noun if one else f"{noun}s"
    verb = f" {verb if one else _VERBS[verb]}" if verb else ""
    return f"{number:,} {noun}{verb}"
