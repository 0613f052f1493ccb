"""The shells that a board may have.

Each change is tested on dash, and the essentials on busybox ash, which most boards have.
``make test-all`` runs the others, too.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from _pytest.mark import ParameterSet

BUSYBOX = ("busybox", "sh")
DASH = ("dash",)
BASH = ("bash", "--posix")


def each_shell(
    *per_change: tuple[str, ...], of: Iterable[tuple[str, ...]] = (BUSYBOX, DASH)
) -> list[ParameterSet]:
    """Return a parameter for each shell; those that are not ``per_change`` (dash) run thorough."""
    now = per_change or (DASH,)
    return [
        pytest.param(words, id=words[0], marks=() if words in now else pytest.mark.thorough)
        for words in of
    ]
