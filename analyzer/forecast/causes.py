"""Each change between two kernels, tried alone: the requests, pages and seconds that it adds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from foreread.analyzer.forecast.changes import Change
from foreread.analyzer.forecast.document import ForecastCause
from foreread.analyzer.forecast.kernel import Kernel, counts
from foreread.analyzer.predict.inputs import Inputs

MOST_CAUSES = 3


def causes_of(
    inputs: Inputs,
    kernel: Kernel,
    changes: Sequence[Change],
    seconds: Callable[[Kernel], float] | None,
) -> tuple[list[ForecastCause], int]:
    """Return the changes with the largest effect, and the number of changes with any effect.

    ``kernel`` is the present kernel; each change is applied to it alone. ``seconds`` returns the
    seconds of the start under a kernel; None if seconds cannot be predicted.
    """
    before = counts(inputs, kernel)
    seconds_before = None if seconds is None else seconds(kernel)
    causes = []
    for change in changes:
        changed = change.apply(kernel)
        after = counts(inputs, changed)
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
            causes.append(part)
    causes.sort(key=_size, reverse=True)
    return causes[:MOST_CAUSES], len(causes)


def _size(part: ForecastCause) -> tuple[float, int, int]:
    return abs(part.seconds or 0.0), abs(part.requests), abs(part.pages)
