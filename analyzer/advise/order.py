"""Pages of a file in the order in which a start accesses them, as a linker can place them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np

from foreread.analyzer.advise.variant import Variant
from foreread.analyzer.ingest.tables import Array
from foreread.emulator.linux.operations import Op, Program
from foreread.tracer.formats.capture import FileEntry

Part = tuple[int, int]  # pages [first, end) in free order


def free_parts(entry: FileEntry | None, size: int, page_size: int) -> tuple[Part, ...]:
    """Return the parts of a file in which a rebuild can place pages freely.

    Of a program or library: its executable segments, in which a linker orders the functions.
    A part ends with the last whole page. A segment that begins with the file's header has constants
    and tables as well, which stay: without the file's sections nothing of it is known to be free.
    Any other file is one part.
    """
    pages = -(-size // page_size)
    if entry is None or not entry.segments:
        return ((0, pages),)
    parts = []
    for segment in entry.segments:
        first, end = -(-segment.at // page_size), (segment.at + segment.length) // page_size
        if segment.executable and segment.at > 0 and end > first:
            parts.append((first, end))
    return tuple(parts)


def page_order(variant: Variant, file: int, parts: tuple[Part, ...]) -> dict[int, list[int]]:
    """Return the pages of each part that can move, in the order of their first access.

    By the part's first page. Pages stay that something else than a single touch reads: read(2)
    over several pages, advice, or that were cached before the run.
    """
    accesses = variant.start.recording.accesses
    page = accesses["page"][accesses["file"] == file].astype(np.int64)
    fixed = fixed_pages(variant.run.program, file, variant.run.machine.page_size)
    movable = [index for index in page.tolist() if index not in fixed]
    return {
        first: chosen
        for first, end in parts
        if len(chosen := [index for index in movable if first <= index < end]) > 1
    }


def ordered(
    variant: Variant, file: int, parts: tuple[Part, ...], code: bool = False
) -> Variant | None:
    """Return the variant with a file's accessed pages in order at the front of each part.

    Of ``code`` whole functions move, and some begin or end beyond the accessed pages: neighbouring
    pages need one page more than they are. In a random link what was on a page lies on the page of
    its turn, or on the next. None if that changes nothing.
    """
    moved: dict[int, int] = {}
    fixed = fixed_pages(variant.run.program, file, variant.run.machine.page_size)
    rng = variant.linking if code else None
    for first, pages in page_order(variant, file, parts).items():
        end = next(end for begin, end in parts if begin == first)
        free = [page for page in range(first, end) if page not in fixed]
        accessed = set(pages)
        begins = [code and page - 1 not in accessed for page in pages]
        turns = np.arange(len(pages)) + np.cumsum(begins) - begins[0]
        turns += 0 if rng is None else rng.integers(2, size=len(pages))
        if turns[-1] < len(free):
            moved |= {page: free[turn] for page, turn in zip(pages, turns.tolist(), strict=True)}
    return with_pages_at(variant, file, moved, parts)


def with_pages_at(
    variant: Variant, file: int, places: Mapping[int, int], parts: tuple[Part, ...]
) -> Variant | None:
    """Return the variant with pages of a file at other places in it; None if all stay.

    A random link (``variant.link``) places each part some pages further on, up to a window, and its
    last pages first. Pages stay that operations on several pages need where they are.
    """
    if file in variant.moved:
        return None
    program, page_size = variant.run.program, variant.run.machine.page_size
    new = _new_places(variant, file, places, parts)
    rows = _touches(program, file)
    chosen = program.operations[rows]
    reads = chosen["op"] == Op.READ
    page = np.where(reads, chosen["at"] // page_size, chosen["at"]).astype(np.int64)
    to = page.copy()
    inside = page < len(new)
    to[inside] = new[page[inside]]
    faults = np.flatnonzero(chosen["op"] == Op.FAULT)
    stays = faults[~_mapped(program, chosen["mapping"][faults], to[faults])]
    to[stays] = page[stays]
    if (to == page).all():
        return None
    operations = program.operations.copy()
    operations["at"][rows] = np.where(reads, to * page_size + chosen["at"] % page_size, to)
    run = replace(variant.run, program=replace(program, operations=operations))
    moves = np.flatnonzero(new != np.arange(len(new)))
    moved = dict(zip(moves.tolist(), new[moves].tolist(), strict=True))
    return replace(variant.with_run(run), moved={**variant.moved, file: moved})


def _new_places(
    variant: Variant, file: int, places: Mapping[int, int], parts: tuple[Part, ...]
) -> Array:
    """Return the new page by the old one, for all pages up to the end of the last part."""
    new = np.arange(max((end for _, end in parts), default=0))
    wanted = new.copy()
    moved = [page for page in places if page < len(new)]
    wanted[moved] = [places[page] for page in moved]
    run = variant.run
    fixed = np.array(sorted(fixed_pages(run.program, file, run.machine.page_size)), np.int64)
    rng = variant.linking
    shift = 0 if rng is None else int(rng.integers(max(variant.window, 1)))
    for first, end in parts:
        free = np.setdiff1d(np.arange(first, end), fixed)
        if len(free):
            at = np.minimum(np.searchsorted(free, wanted[free]), len(free) - 1)
            at = np.where(free[at] == wanted[free], at, np.arange(len(free)))
            new[free] = free[(at + shift) % len(free)]
    return new


def _mapped(program: Program, mapping: Array, page: Array) -> Array:
    """Return whether mappings have pages; data beside the first code has a mapping of its own."""
    rows = program.mappings[mapping]
    start, pages = rows["start"].astype(np.int64), rows["pages"].astype(np.int64)
    return np.asarray((start <= page) & (page < start + pages))


def _touches(program: Program, file: int) -> Array:
    """Return the operations that touch pages of a file."""
    kinds = np.isin(program.operations["op"], (Op.READ, Op.FAULT, Op.SINGLE))
    return np.flatnonzero((program.file_of_operations() == file) & kinds)


@lru_cache(maxsize=32)  # random links of a file share the program before it is relinked
def fixed_pages(program: Program, file: int, page_size: int) -> frozenset[int]:
    """Return the pages of a file that operations on several pages need where they are."""
    fixed: set[int] = set()
    own = program.operations[program.file_of_operations() == file]
    for op, _, _, at, length in own.tolist():
        if op in (Op.PRESENT, Op.WILLNEED):
            fixed.update(range(at, at + length))
        elif op == Op.READ and length:
            first, last = at // page_size, (at + length - 1) // page_size
            if first != last:
                fixed.update(range(first, last + 1))
    return frozenset(fixed)
