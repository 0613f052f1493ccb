"""The part of each change between two kernels: what it does alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from analyzer.forecast.changes import Change
from analyzer.forecast.document import ForecastCause
from analyzer.forecast.kernel import Kernel, counts
from analyzer.predict.inputs import Inputs

MOST_CAUSES = 3


def causes_of(
    taken: Inputs,
    kernel: Kernel,
    changes: Sequence[Change],
    seconds: Callable[[Kernel], float] | None,
) -> tuple[list[ForecastCause], int]:
    """Return the changes with the largest parts, and how many have any.

    ``kernel`` is the one of now, under which each is tried alone; ``seconds`` returns those of the
    start under a kernel, None if there are none.
    """
    before = counts(taken, kernel)
    seconds_before = None if seconds is None else seconds(kernel)
    found = []
    for change in changes:
        changed = change.apply(kernel)
        after = counts(taken, changed)
        added = None
        if seconds is not None and seconds_before is not None:
            added = seconds(changed) - seconds_before
        part = ForecastCause(
            what=change.what,
            since=change.since,
            source=change.source,
            undone=change.undone,
            requests=after.requests - before.requests,
            pages=after.pages - before.pages,
            seconds=added,
        )
        if part.requests or part.pages or part.seconds:
            found.append(part)
    found.sort(key=_size, reverse=True)
    return found[:MOST_CAUSES], len(found)


def _size(part: ForecastCause) -> tuple[float, int, int]:
    return abs(part.seconds or 0.0), abs(part.requests), abs(part.pages)
