"""Numbers of things in messages: "1 page", "2 pages were", and lists: "a, b and 3 more"."""

from __future__ import annotations

from collections.abc import Sequence

_VERBS = {"was": "were", "is": "are", "has": "have"}


def plural(number: int, noun: str, verb: str = "") -> str:
    """Return ``1 page`` or ``2 pages``; ``verb`` (was, is, has) is added in the same number."""
    single = number == 1
    noun = noun if single else f"{noun}s"
    verb = f" {verb if single else _VERBS[verb]}" if verb else ""
    return f"{number:,} {noun}{verb}"


def first_of(words: Sequence[str], most: int) -> str:
    """Return the first ``most`` words as a list, and the number of further words."""
    shown = ", ".join(words[:most])
    return f"{shown} and {len(words) - most} more" if len(words) > most else shown
