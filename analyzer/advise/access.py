"""Advice about how one file is accessed, for its descriptors or its mappings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import numpy as np

from foreread.analyzer.advise.variant import Variant, with_steps
from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.program.added_steps import new_steps
from foreread.emulator.linux.operations import ADVICE, OPERATION, MapFlag, Op

Call = Literal["fadvise", "madvise"]
Pattern = Literal["normal", "random", "sequential"]
_OPS: dict[Pattern, Op] = {"normal": Op.NORMAL, "random": Op.RANDOM, "sequential": Op.SEQUENTIAL}
_FLAGS: dict[Pattern, int] = {
    "normal": 0,
    "random": MapFlag.RANDOM,
    "sequential": MapFlag.SEQUENTIAL,
}
_PATTERN_FLAGS = int(MapFlag.RANDOM | MapFlag.SEQUENTIAL)
_USES = (Op.READ, Op.FAULT)


def is_read(variant: Variant, file: int) -> bool:
    """Return whether a file (row) is read through descriptors."""
    return bool((_of(variant, file) & (_column(variant, "op") == Op.READ)).any())


def is_mapped(variant: Variant, file: int) -> bool:
    """Return whether pages of a file (row) are touched through mappings."""
    return bool((_of(variant, file) & (_column(variant, "op") == Op.FAULT)).any())


def is_executed(variant: Variant, file: int) -> bool:
    """Return whether a mapping of a file (row) is executable: a program, or a library."""
    return bool((variant.run.program.mappings["flags"][_maps(variant, file)] & MapFlag.EXEC).any())


def advises_descriptors(variant: Variant, file: int) -> bool:
    """Return whether the program itself advises a descriptor of a file (row)."""
    return bool((_of(variant, file) & np.isin(_column(variant, "op"), ADVICE)).any())


def advises_mappings(variant: Variant, file: int) -> bool:
    """Return whether the program itself advises a mapping of a file (row)."""
    flags = variant.run.program.mappings["flags"][_maps(variant, file)]
    return bool((flags & _PATTERN_FLAGS).any())


def with_descriptors(variant: Variant, file: int, pattern: Pattern) -> Variant:
    """Return the variant that advises each descriptor of a file (row) before its first use.

    Advice that the program gives itself is replaced. POSIX_FADV_RANDOM sets FMODE_RANDOM, which
    page faults ignore; POSIX_FADV_SEQUENTIAL doubles the window, theirs too (mm/fadvise.c).
    """
    program = variant.run.program
    operations = program.operations.copy()
    own = _of(variant, file) & np.isin(operations["op"], ADVICE)
    operations["op"][own] = _OPS[pattern]
    variant = variant.with_run(
        replace(variant.run, program=replace(program, operations=operations))
    )
    places = [*_first_uses(variant, file)]
    if not places:
        return variant
    steps = new_steps(len(places))
    steps["operation"] = len(operations) + np.arange(len(places))
    added = [(_OPS[pattern], handle, 0, 0, 0) for _, handle in places]
    return with_steps(variant, [row for row, _ in places], steps, np.array(added, OPERATION))


def with_mappings(variant: Variant, file: int, pattern: Pattern) -> Variant:
    """Return the variant whose mappings of a file (row) are advised.

    MADV_RANDOM and MADV_SEQUENTIAL are flags of the mapping (mm/madvise.c).
    """
    program = variant.run.program
    mappings = program.mappings.copy()
    own = _maps(variant, file)
    others = mappings["flags"][own] & np.uint8(0xFF ^ _PATTERN_FLAGS)
    mappings["flags"][own] = others | np.uint8(_FLAGS[pattern])
    return variant.with_run(replace(variant.run, program=replace(program, mappings=mappings)))


def _first_uses(variant: Variant, file: int) -> Iterator[tuple[int, int]]:
    """Yield the step before which each descriptor is used first after its open, and its handle."""
    steps, program = variant.run.steps, variant.run.program
    rows = np.flatnonzero(steps["operation"] >= 0)
    done = steps["operation"][rows]
    chosen = _of(variant, file)[done]
    fresh = {int(handle) for handle in np.flatnonzero(program.handles == file)}
    for row, operation in zip(rows[chosen].tolist(), done[chosen].tolist(), strict=True):
        op, handle, mapping = program.operations[["op", "handle", "mapping"]][operation].tolist()
        if op == Op.FAULT:
            handle = int(program.mappings["handle"][mapping])
        if op == Op.OPEN:
            fresh.add(handle)
        elif op in _USES and handle in fresh:
            fresh.discard(handle)
            yield row, handle


def _of(variant: Variant, file: int) -> Array:
    own: Array = variant.run.program.file_of_operations() == file
    return own


def _maps(variant: Variant, file: int) -> Array:
    """Return which mappings are of a file."""
    program = variant.run.program
    handles = np.flatnonzero(program.handles == file)
    return np.isin(program.mappings["handle"], handles)


def _column(variant: Variant, name: str) -> Array:
    column: Array = variant.run.program.operations[name]
    return column
