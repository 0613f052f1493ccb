"""Cold runs on a machine where others read files."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tracer.error import RecordError

_ATTEMPTS = 20
_T = TypeVar("_T")


def until_cold(run: Callable[[], _T]) -> _T:
    """Return what ``run`` returns; it is called again while others read files."""
    for _ in range(_ATTEMPTS):
        try:
            return run()
        except RecordError as error:
            if "not cold" not in str(error):
                raise
    return run()
