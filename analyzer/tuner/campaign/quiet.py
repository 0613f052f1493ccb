"""Waits until other processes no longer disturb a machine."""

from __future__ import annotations

from collections.abc import Callable
from time import sleep
from typing import TypeVar

from foreread.analyzer.tuner.campaign.attempts import DisturbedError

T = TypeVar("T")
PATIENCE_S = 600.0
_PAUSES_S = (5.0, 10.0, 20.0, 40.0)  # the last one repeatedly


def patiently(resume: Callable[[], T], good: Callable[[], int], tell: Callable[[str], None]) -> T:
    """Return the result of ``resume``, which is repeated while other processes disturb it.

    ``good`` returns the number of good attempts so far. Raises the DisturbedError after PATIENCE_S
    of pauses without a further good attempt.
    """
    waited, tries, before = 0.0, 0, good()
    while True:
        try:
            return resume()
        except DisturbedError as error:
            if good() > before:
                waited, tries, before = 0.0, 0, good()
            if waited >= PATIENCE_S:
                raise
            pause = _PAUSES_S[min(tries, len(_PAUSES_S) - 1)]
            tell(f"{error}; trying again in {pause:g} s, for at most {PATIENCE_S - waited:g} s")
            sleep(pause)
            waited, tries = waited + pause, tries + 1
