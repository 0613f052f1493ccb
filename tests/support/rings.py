"""Which cases of a test run with each change; the others run thorough (make test-all)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from _pytest.mark import ParameterSet


def further(cases: Iterable[Any], now: int | Iterable[Any] = 1) -> list[ParameterSet]:
    """Return parameters of which only the first ``now``, or those in ``now``, run each change."""
    every = list(cases)
    kept = every[:now] if isinstance(now, int) else list(now)
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=() if case in kept else pytest.mark.thorough,
        )
        for case in every
    ]
