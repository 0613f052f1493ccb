"""Pages of a file in the order in which a start accesses them, as a linker can place them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from analyzer.advise.variant import Variant
from analyzer.ingest.tables import Array
from emulator.linux.operations import Op, Program
from tracer.formats.capture import FileEntry

Part = tuple[int, int]  # pages [first, end) whose order is free


def free_parts(entry: FileEntry | None, size: int, page_size: int) -> tuple[Part, ...]:
    """Return the parts of a file whose pages a rebuild can place freely.

    Of a program or library those of its executable segments: a linker orders the functions in them.
    A part ends with the last whole page. Any other file is one part.
    """
    pages = -(-size // page_size)
    if entry is None or not entry.segments:
        return ((0, pages),)
    found = []
    for one in entry.segments:
        first, end = -(-one.at // page_size), (one.at + one.length) // page_size
        if one.executable and end > first:
            found.append((first, end))
    return tuple(found)


def page_order(variant: Variant, file: int, parts: tuple[Part, ...]) -> dict[int, list[int]]:
    """Return the pages of each part that can move, in the order of their first access.

    By the part's first page. Pages stay that something else than a single touch reads: read(2)
    over several pages, advice, or that were cached before the run.
    """
    accesses = variant.start.recording.accesses
    page = accesses["page"][accesses["file"] == file].astype(np.int64)
    fixed = _fixed(variant.run.program, file, variant.run.machine.page_size)
    movable = [one for one in page.tolist() if one not in fixed]
    return {
        first: chosen
        for first, end in parts
        if len(chosen := [one for one in movable if first <= one < end]) > 1
    }


def ordered(variant: Variant, file: int, parts: tuple[Part, ...]) -> Variant | None:
    """Return the variant with a file whose accessed pages lie in order at the front of each part.

    None if that changes nothing.
    """
    program = variant.run.program
    fixed = _fixed(program, file, variant.run.machine.page_size)
    moved: dict[int, int] = {}
    for first, pages in page_order(variant, file, parts).items():
        free = (one for one in _from(first) if one not in fixed)
        moved |= dict(zip(pages, free, strict=False))
    moved = {old: new for old, new in moved.items() if old != new}
    if not moved or file in variant.moved:
        return None
    operations = program.operations.copy()
    for row in _touches(program, file).tolist():
        at = int(operations["at"][row])
        if operations["op"][row] == Op.READ:
            page_size = variant.run.machine.page_size
            page = at // page_size
            operations["at"][row] = moved.get(page, page) * page_size + at % page_size
        else:
            operations["at"][row] = moved.get(at, at)
    run = replace(variant.run, program=replace(program, operations=operations))
    return replace(variant.with_run(run), moved={**variant.moved, file: moved})


def _from(first: int) -> Iterator[int]:
    while True:
        yield first
        first += 1


def _touches(program: Program, file: int) -> Array:
    """Return the operations that touch pages of a file."""
    kinds = np.isin(program.operations["op"], (Op.READ, Op.FAULT, Op.SINGLE))
    return np.flatnonzero((program.file_of_operations() == file) & kinds)


def _fixed(program: Program, file: int, page_size: int) -> set[int]:
    """Return the pages of a file that operations on several pages need where they are."""
    found: set[int] = set()
    own = program.operations[program.file_of_operations() == file]
    for op, _, _, at, length in own.tolist():
        if op in (Op.PRESENT, Op.WILLNEED):
            found.update(range(at, at + length))
        elif op == Op.READ and length:
            first, last = at // page_size, (at + length - 1) // page_size
            if first != last:
                found.update(range(first, last + 1))
    return found
