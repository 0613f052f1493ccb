"""Compares the pages and requests of a run with the emulation's, program by program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from foreread.analyzer.judge.expected import Expected
from foreread.analyzer.judge.task import Task
from foreread.boards.base.counted import plural
from foreread.boards.base.units import KIB
from foreread.emulator.linux.requests import SECTOR, Layout, Limits, requests

Folio = tuple[int, int]  # first page, order
Piece = tuple[int, int]  # first sector, sectors
_SHOWN = 6  # ranges of pages in a difference


@dataclass(frozen=True)
class Difference:
    """The first difference of a kernel from the emulation.

    ``window`` is in pages; ``step`` is the row of the operation; ``expected`` and ``seen`` describe
    pages in words.
    """

    task: Task
    window: int
    step: int
    expected: str
    seen: str


def first_difference(
    task: Task, expected: Expected, seen: Sequence[Folio], window: int, orders: bool
) -> Difference | None:
    """Return the first difference in pages, None if the pages are the same in the same order.

    ``orders``: whether the run shows the sizes of folios; without them, only first pages count.
    """
    expected_folios = expected.folios if orders else [(page, 0) for page, _ in expected.folios]
    seen_folios = list(seen) if orders else [(page, 0) for page, _ in seen]
    if expected_folios == seen_folios:
        return None
    pairs = zip(expected_folios, seen_folios, strict=False)
    row = next(
        (row for row, (a, b) in enumerate(pairs) if a != b),
        min(len(expected_folios), len(seen_folios)),
    )
    if row < len(expected_folios):
        step = expected.steps[row]
        end = row + expected.steps[row:].count(step)
    else:  # the kernel read more, during the last operation or after it
        step, end = len(task.operations) - 1, row
    return Difference(
        task,
        window,
        step,
        pages(expected_folios[row:end]),
        pages(seen_folios[row : max(end, row + 1)]),
    )


def pages(folios: Sequence[Folio]) -> str:
    """Return the pages of folios as text: ranges, in the order of reading."""
    if not folios:
        return "no page"
    ranges: list[list[int]] = []
    for page, order in folios:
        end = page + (1 << order)
        if ranges and ranges[-1][1] == page and ranges[-1][2] == order:
            ranges[-1][1] = end
        else:
            ranges.append([page, end, order])
    texts = [_range(*each) for each in ranges[:_SHOWN]]
    return ", ".join(texts) + (", …" if len(ranges) > _SHOWN else "")


def _range(first: int, end: int, order: int) -> str:
    name = f"page {first}" if end == first + 1 else f"pages {first}–{end - 1}"
    return f"{name} in folios of {1 << order}" if order else name


@dataclass(frozen=True)
class Requested:
    """The requests of one program: the expected ones, and the number that the queue merged.

    ``difference`` is None where all sectors were read by requests that begin and end at borders of
    the emulation's requests. A request that waits in the queue may grow by the next one: the
    scheduler merges it, not readahead.
    """

    expected: int
    merged: int
    difference: str | None


def compare_requests(
    expected: Expected, layout: Layout, limits: Limits, page_size: int, seen: Sequence[Piece]
) -> Requested | None:
    """Compare one program's requests; None if a request may exceed the queue's limit of segments.

    ``layout`` is the layout of the program's file, as file 0.
    """
    runs = (
        len(list(run)) for _, run in groupby(expected.outcome.inserts, key=lambda insert: insert[3])
    )
    if max(runs, default=0) > limits.max_segments:
        return None
    sent = requests(expected.outcome, layout, limits, page_size)
    pieces = [(sector, sectors) for _, sector, sectors, _ in sent]
    starts, ends = {at for at, _ in pieces}, {at + count for at, count in pieces}
    for at, count in seen:
        if at not in starts or at + count not in ends:
            difference = f"a request of {_kib(count)} at sector {at} that is not the emulation's"
            return Requested(len(pieces), 0, difference)
    if _covered(pieces) != _covered(seen):
        difference = f"{plural(len(seen), 'request')} that do not cover the same sectors"
        return Requested(len(pieces), 0, difference)
    return Requested(len(pieces), len(pieces) - len(seen), None)


def _covered(pieces: Sequence[Piece]) -> list[tuple[int, int]]:
    """Return the sectors of pieces as joined ranges; sectors that are read twice occur twice."""
    joined: list[tuple[int, int]] = []
    for at, count in sorted(pieces):
        if joined and joined[-1][1] == at:
            joined[-1] = (joined[-1][0], at + count)
        else:
            joined.append((at, at + count))
    return joined


def _kib(sectors: int) -> str:
    return f"{sectors * SECTOR // KIB} KiB"
