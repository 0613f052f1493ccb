"""Compares the pages and requests of a run with those of the emulation, program by program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from analyzer.judge.expected import Expected
from analyzer.judge.task import Task
from boards.base.counted import plural
from boards.base.units import KIB
from emulator.linux.requests import SECTOR, Layout, Limits, requests

Folio = tuple[int, int]  # first page, order
Piece = tuple[int, int]  # first sector, sectors
_SHOWN = 6  # ranges of pages in a difference


@dataclass(frozen=True)
class Difference:
    """Where a kernel first did otherwise: a program, a window in pages, an operation, in words."""

    task: Task
    window: int
    step: int
    expected: str
    seen: str


def first_difference(
    task: Task, expected: Expected, seen: Sequence[Folio], window: int, orders: bool
) -> Difference | None:
    """Return where the pages differ, None if they are the same in the same order.

    ``orders``: whether the run shows the sizes of folios; without them their first pages count.
    """
    wanted = expected.folios if orders else [(page, 0) for page, _ in expected.folios]
    found = list(seen) if orders else [(page, 0) for page, _ in seen]
    if wanted == found:
        return None
    pairs = zip(wanted, found, strict=False)
    row = next((row for row, (a, b) in enumerate(pairs) if a != b), min(len(wanted), len(found)))
    if row < len(wanted):
        step = expected.steps[row]
        end = row + expected.steps[row:].count(step)
    else:  # the kernel read more, during the last operation or after it
        step, end = len(task.operations) - 1, row
    return Difference(
        task, window, step, pages(wanted[row:end]), pages(found[row : max(end, row + 1)])
    )


def pages(folios: Sequence[Folio]) -> str:
    """Say which pages folios hold: ranges, in the order in which they were read."""
    if not folios:
        return "no page"
    ranges: list[list[int]] = []
    for page, order in folios:
        end = page + (1 << order)
        if ranges and ranges[-1][1] == page and ranges[-1][2] == order:
            ranges[-1][1] = end
        else:
            ranges.append([page, end, order])
    said = [_range(*one) for one in ranges[:_SHOWN]]
    return ", ".join(said) + (", …" if len(ranges) > _SHOWN else "")


def _range(first: int, end: int, order: int) -> str:
    name = f"page {first}" if end == first + 1 else f"pages {first}–{end - 1}"
    return f"{name} in folios of {1 << order}" if order else name


@dataclass(frozen=True)
class Requested:
    """The requests of one program: those expected, and how many the queue merged.

    ``difference`` is None where all sectors were read by requests that begin and end where the
    emulation's do. A request that waits in the queue may grow by the next one: that is the
    scheduler's merging, not readahead's.
    """

    expected: int
    merged: int
    difference: str | None


def compare_requests(
    expected: Expected, layout: Layout, limits: Limits, page_size: int, seen: Sequence[Piece]
) -> Requested | None:
    """Compare one program's requests; None if a request may have too many segments to be known.

    ``layout`` is that of the program's file, as file 0.
    """
    runs = (len(list(run)) for _, run in groupby(expected.outcome.inserts, key=lambda one: one[3]))
    if max(runs, default=0) > limits.max_segments:
        return None
    made = requests(expected.outcome, layout, limits, page_size)
    wanted = [(sector, sectors) for _, sector, sectors, _ in made]
    starts, ends = {at for at, _ in wanted}, {at + count for at, count in wanted}
    for at, count in seen:
        if at not in starts or at + count not in ends:
            said = f"a request of {_kib(count)} at sector {at} that is not the emulation's"
            return Requested(len(wanted), 0, said)
    if _covered(wanted) != _covered(seen):
        said = f"{plural(len(seen), 'request')} that do not cover the same sectors"
        return Requested(len(wanted), 0, said)
    return Requested(len(wanted), len(wanted) - len(seen), None)


def _covered(pieces: Sequence[Piece]) -> list[tuple[int, int]]:
    """Return the sectors of pieces as joined ranges; what is read twice is there twice."""
    joined: list[tuple[int, int]] = []
    for at, count in sorted(pieces):
        if joined and joined[-1][1] == at:
            joined[-1] = (joined[-1][0], at + count)
        else:
            joined.append((at, at + count))
    return joined


def _kib(sectors: int) -> str:
    return f"{sectors * SECTOR // KIB} KiB"
