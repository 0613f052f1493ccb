"""Rows of a computation in parallel threads: the core releases the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from threading import Thread
from typing import TypeVar

Row = TypeVar("Row")
Result = TypeVar("Result")


def in_threads(
    compute: Callable[[Sequence[Row]], Iterable[Result]], rows: Sequence[Row]
) -> list[Result]:
    """Return the results of ``rows`` in their order; ``compute`` returns those of some rows.

    There is a thread a processor. Each gets every n-th row, since neighbours take about as long.
    Raises what ``compute`` raises.
    """
    threads = max(min(len(os.sched_getaffinity(0)), len(rows)), 1)
    results: list[list[Result]] = [[] for _ in range(threads)]
    errors: list[BaseException] = []

    def work(first: int) -> None:
        try:
            results[first] = list(compute(rows[first::threads]))
        except BaseException as error:
            errors.append(error)

    others = [Thread(target=work, args=(first,)) for first in range(1, threads)]
    for thread in others:
        thread.start()
    work(0)
    for thread in others:
        thread.join()
    if errors:
        raise errors[0]
    return [results[row % threads][row // threads] for row in range(len(rows))]
