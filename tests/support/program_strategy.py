"""Hypothesis strategies: programs that read and map files in many ways."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import partial

from hypothesis import strategies as st
from programs import PAGE, MapFlag, Op, Script

from foreread.emulator.linux.rules import Rules, Version, rules_for, values_of

# Bytes: a part of a page, about a window of 32 pages, whole and broken pages, many windows.
SIZES = (
    1,
    3 * PAGE + 100,
    16 * PAGE,
    28 * PAGE,
    33 * PAGE - 1,
    100 * PAGE,
    700 * PAGE,
    4000 * PAGE,
)
_LENGTHS = (1, 100, PAGE, 5000, 2 * PAGE, 8 * PAGE, 32 * PAGE, 64 * PAGE, 400 * PAGE)
_STRIDES = (1, 1, 1, 2, 3, 5, 16, 20, 70, -1, -7)
_MAP_FLAGS = (
    MapFlag(0),
    MapFlag.EXEC,
    MapFlag.SHARED,
    MapFlag.SEQUENTIAL,
    MapFlag.RANDOM,
    MapFlag.EXEC | MapFlag.RANDOM,
)


def rules_like(version: Version) -> st.SearchStrategy[Rules]:
    """Draw the rules of a kernel, these with the rules that no kernel has, or any that a file has.

    A file of a patch may combine rules that no kernel combines.
    """
    rules = rules_for(version)
    proposed = {name: of_rule(name) for name in ("within_mapping", "mapped_folio_kb")}
    every = {rule.name: of_rule(rule.name) for rule in fields(Rules)}
    return (
        st.just(rules) | st.builds(partial(replace, rules), **proposed) | st.builds(Rules, **every)
    )


def of_rule(name: str) -> st.SearchStrategy[object]:
    """Draw a value that a rule may have."""
    return st.sampled_from(values_of(name))


@dataclass
class Drawn:
    """A program and which of SIZES its files have."""

    script: Script
    sizes: list[int]


@st.composite
def programs(draw: st.DrawFn, *, large: bool, block: int) -> Drawn:
    """Draw a program on files with or without large folios, or with blocks of so many pages."""
    script = Script()
    sizes = draw(st.lists(st.sampled_from(range(len(SIZES))), min_size=1, max_size=2, unique=True))
    for size in sizes:
        script.sized(SIZES[size], large=large, block=block)
    files = st.integers(0, len(sizes) - 1)
    handles = [script.open(draw(files)) for _ in range(draw(st.integers(1, 3)))]
    pages = {handle: -(-SIZES[sizes[script.handles[handle]]] // PAGE) for handle in handles}
    mappings = [_map(draw, script, pages) for _ in range(draw(st.integers(0, 3)))]
    for _ in range(draw(st.integers(1, 8))):
        kinds = [_read, _advise] + ([_touch, _touch] if mappings else [])
        draw(st.sampled_from(kinds))(draw, script, pages, mappings)
    return Drawn(script, sizes)


Mapped = tuple[int, int, int, MapFlag]  # row, first page, pages, flags


def _map(draw: st.DrawFn, script: Script, pages: dict[int, int]) -> Mapped:
    handle = draw(st.sampled_from(sorted(pages)))
    start = draw(st.integers(0, pages[handle] - 1))
    length = draw(st.integers(1, pages[handle] - start))
    flags = draw(st.sampled_from(_MAP_FLAGS))
    row = script.map(handle, start, length, flags, draw(st.integers(0, 511)))
    return row, start, length, flags


def _touch(draw: st.DrawFn, script: Script, _pages: dict[int, int], mappings: list[Mapped]) -> None:
    row, start, length, flags = draw(st.sampled_from(mappings))
    may_write = not flags & (MapFlag.EXEC | MapFlag.SHARED)
    write = may_write and draw(st.sampled_from([False, False, False, True]))
    stride = draw(st.sampled_from(_STRIDES))
    page = draw(st.integers(start, start + length - 1))
    for _ in range(draw(st.sampled_from([1, 1, 3, 10, 40, 120]))):
        if start <= page < start + length:
            script.touch(row, page, write=write)
        page += stride


def _read(draw: st.DrawFn, script: Script, pages: dict[int, int], _mappings: list[Mapped]) -> None:
    handle = draw(st.sampled_from(sorted(pages)))
    size = pages[handle] * PAGE
    position = draw(st.one_of(st.just(0), st.integers(0, size)))
    if draw(st.booleans()):
        position -= position % PAGE
    length = draw(st.sampled_from(_LENGTHS))
    stride = draw(st.sampled_from([length, length, length + PAGE, length + 3 * PAGE, -length]))
    for _ in range(draw(st.sampled_from([1, 3, 8, 20]))):
        if 0 <= position <= size:
            script.read_bytes(handle, position, length)
        position += stride


def _advise(
    draw: st.DrawFn, script: Script, pages: dict[int, int], _mappings: list[Mapped]
) -> None:
    handle = draw(st.sampled_from(sorted(pages)))
    advice = draw(st.sampled_from([Op.NORMAL, Op.SEQUENTIAL, Op.RANDOM, Op.WILLNEED]))
    start = draw(st.integers(0, pages[handle] - 1))
    script.advise(advice, handle, start, draw(st.integers(1, pages[handle] - start)))
