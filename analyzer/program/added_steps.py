"""Steps that are added to a run, each before a step of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foreread.analyzer.ingest.tables import Array, order_by
from foreread.emulator.linux.steps import STEP


def new_steps(number: int) -> Array:
    """Return steps that do nothing and wait for nothing."""
    steps = np.zeros(number, STEP)
    steps["operation"] = steps["waits_for"] = steps["woken_by"] = -1
    return steps


def with_added(steps: Array, rows: Sequence[int], added: Array) -> tuple[Array, Array]:
    """Return steps with further ones (STEP), each before a row of its own; and these rows, sorted.

    An added step takes over what the thread does before that row (computing, sleep, waits). Where
    several come before one row, the first does.
    """
    at = np.asarray(rows, np.int64)
    order = order_by(at)
    at, new = at[order], added[order]
    steps = steps.copy()
    first = np.flatnonzero(np.diff(at, prepend=-1))
    for name in ("cpu_ns", "sleep_ns", "waits_for", "woken_by"):
        nothing = -1 if name in ("waits_for", "woken_by") else 0
        new[name] = nothing
        new[name][first] = steps[name][at[first]]
        steps[name][at[first]] = nothing
    new["thread"] = steps["thread"][at]
    merged = np.insert(steps, at, new)
    for name in ("waits_for", "woken_by"):
        is_row = merged[name] >= 0
        merged[name][is_row] += np.searchsorted(at, merged[name][is_row], side="right")
    return merged, at
