"""Reads that begin earlier: advice of the application itself, or of a process beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from foreread.analyzer.advise.variant import Moved, Variant, with_steps
from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.prefetch.ranges import merged_ranges
from foreread.analyzer.prefetch.replayed import Row
from foreread.analyzer.program.added_steps import new_steps
from foreread.emulator.linux.operations import OPERATION, Op, Program

Call = Literal["WILLNEED", "POPULATE"]


def ranges_of(variant: Variant, files: Iterable[int], gap: int) -> tuple[Row, ...]:
    """Return what a start accesses of files (rows), with gaps of up to ``gap`` pages, in order.

    The pages are those that a changed file has.
    """
    accesses = variant.start.recording.accesses
    chosen = np.isin(accesses["file"], np.fromiter(files, np.int64))
    file = accesses["file"][chosen].astype(np.int64)
    page = accesses["page"][chosen].astype(np.int64)
    return tuple(merged_ranges(file, at_new_places(variant.moved, file, page), gap))


def at_new_places(moved: Mapping[int, Moved], file: Array, page: Array) -> Array:
    """Return the places of pages in the files that have others."""
    places = page.copy()
    for row in np.unique(file).tolist():
        if row in moved:
            own = np.flatnonzero(file == row)
            places[own] = [moved[row].get(old, old) for old in page[own].tolist()]
    return places


def beside_the_start(variant: Variant, files: Iterable[int], gap: int) -> Variant:
    """Return the variant with a process that reads files (rows) from the beginning of the start.

    Files of other disks are left out: their reads keep the recorded times.
    """
    recording = variant.start.recording
    devs = recording.files["dev"].tolist()
    here = [
        row for row in files if recording.devices.get(devs[row], devs[row]) == variant.start.disk
    ]
    rows = ranges_of(variant, here, gap)
    kept = [row for row in variant.ranges if row not in rows]
    return replace(variant, ranges=(*kept, *rows))


def in_the_application(variant: Variant, file: int, call: Call, gap: int) -> Variant | None:
    """Return the variant in which the application advises the kernel before it uses a file (row).

    With ``WILLNEED`` it asks for all that it will access, and goes on (posix_fadvise; madvise for
    mappings). With ``POPULATE`` it waits until all is mapped (MADV_POPULATE_READ, mm/madvise.c).
    None if it does not use the file so.
    """
    if call == "WILLNEED":
        return _asking(variant, file, gap)
    return _populating(variant, file, gap)


def _asking(variant: Variant, file: int, gap: int) -> Variant | None:
    run = variant.run
    row = _first_use(variant, run.program.file_of_operations() == file)
    if row is None:
        return None
    handle, chunk = len(run.program.handles), run.machine.io_pages
    requests = [
        (Op.WILLNEED, handle, 0, at, min(chunk, first + pages - at))
        for _, first, pages in ranges_of(variant, [file], gap)
        for at in range(first, first + pages, chunk)
    ]
    handles = np.append(run.program.handles, np.uint32(file)).astype(np.uint32)
    program = replace(run.program, handles=handles)
    return _added(variant.with_run(replace(run, program=program)), [row] * len(requests), requests)


def _populating(variant: Variant, file: int, gap: int) -> Variant | None:
    program = variant.run.program
    of_file = program.file_of_operations() == file
    faults = of_file & (program.operations["op"] == Op.FAULT)
    rows, done = [], []
    ranges = ranges_of(variant, [file], gap)
    for mapping in np.unique(program.operations["mapping"][faults]).tolist():
        row = _first_use(variant, faults & (program.operations["mapping"] == mapping))
        if row is not None:
            pages = [*_mapped(program, mapping, ranges)]
            rows += [row] * len(pages)
            done += [(Op.FAULT, 0, mapping, page, 0) for page in pages]
    return _added(variant, rows, done) if rows else None


def _mapped(program: Program, mapping: int, ranges: Iterable[Row]) -> Iterator[int]:
    """Yield the pages of ranges that a mapping has."""
    start, pages = program.mappings[["start", "pages"]][mapping].tolist()
    for _, first, number in ranges:
        yield from range(max(first, start), min(first + number, start + pages))


def _first_use(variant: Variant, chosen: Array) -> int | None:
    """Return the application's first step that touches a page by one of the chosen operations."""
    steps, op = variant.run.steps, variant.run.program.operations["op"]
    chosen = chosen & np.isin(op, (Op.READ, Op.FAULT, Op.SINGLE))
    does = (steps["operation"] >= 0) & np.isin(steps["thread"], variant.threads)
    does[does] = chosen[steps["operation"][does]]
    rows = np.flatnonzero(does)
    return int(rows[0]) if len(rows) else None


def _added(
    variant: Variant, rows: list[int], operations: Sequence[tuple[int, int, int, int, int]]
) -> Variant:
    """Return the variant with steps that execute further operations before ``rows``."""
    steps = new_steps(len(rows))
    steps["operation"] = len(variant.run.program.operations) + np.arange(len(rows))
    return with_steps(variant, rows, steps, np.array(operations, OPERATION))
