"""Offers to lay out files in the order in which the start accesses them, with lists for linkers."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path, PurePosixPath

import numpy as np

from foreread.analyzer.advise.known import KnownFile, kind_of
from foreread.analyzer.advise.offer import Offer
from foreread.analyzer.advise.order import (
    Part,
    fixed_pages,
    free_parts,
    ordered,
    page_order,
    with_pages_at,
)
from foreread.analyzer.advise.placing import Places, Shares, placed
from foreread.analyzer.advise.situation import Situation, files_of
from foreread.analyzer.advise.symbols import MOST_BYTES, Code, Section, code_of, on_pages
from foreread.analyzer.advise.variant import Variant
from foreread.analyzer.prefetch.listing import can_be_listed
from foreread.analyzer.prefetch.rooted import rooted
from foreread.boards.base.bounded import UnboundedError, read_bounded
from foreread.tracer.formats.capture import FileEntry

MOST_FILES = 12
_LONGEST_NAME = 100  # of a list's file, without its suffix
ORDERED = ".text.ordered"  # the output section of the list for GNU ld
_COLD, _STARTUP = ".cold", "_GLOBAL__sub_I_"
_PLAIN = re.compile(r"[A-Za-z0-9_.$]+")  # a name without wildcards in a linker script


def orders(situation: Situation) -> Iterator[Offer]:
    """Yield an offer for each library, program and known file among those with most requests."""
    variant = situation.present[0]
    for row, path, kind in _candidates(situation):
        if isinstance(kind, FileEntry):
            yield from _relinked(situation, row, path, kind)
            continue
        parts = free_parts(None, _size(situation, row), situation.recording.page_size)
        if page_order(variant, row, parts):
            yield _smaller(path, kind, partial(_ordered, path=path, parts=parts))


def unplaced(situation: Situation) -> Iterator[str]:
    """Yield which files have code at an unknown place in them, so that no order is predicted."""
    page_size = situation.recording.page_size
    names = [
        path
        for row, path, kind in _candidates(situation)
        if isinstance(kind, FileEntry)
        and not free_parts(kind, _size(situation, row), page_size)
        and not code_of(_content(situation.root, path)).sections
    ]
    if names:
        yield (
            f"code and tables of {', '.join(names)} share a segment: the order of functions is "
            f"predicted with the files' sections: {_with_root(situation)}"
        )


def _candidates(situation: Situation) -> Iterator[tuple[int, str, FileEntry | KnownFile]]:
    """Yield row, path, and kind or entry of the known files and ELF files with most requests."""
    recording = situation.recording
    for row in np.argsort(-situation.requests, kind="stable")[:MOST_FILES].tolist():
        path = recording.paths[row]
        if path is None or not can_be_listed(path):
            continue
        entry = recording.entries[row] if row < len(recording.entries) else None
        if kind := kind_of(path):
            yield row, path, kind
        elif entry is not None and entry.segments:
            yield row, path, entry


def _size(situation: Situation, row: int) -> int:
    return int(situation.recording.files["size_bytes"][row])


def _smaller(path: str, kind: KnownFile, change: partial[Variant]) -> Offer:
    return Offer(
        "order",
        f"order {path}",
        f"{kind.name} {path} with nothing but what the start uses, in order",
        change,
        (kind.how,),
        "packaging",
        "what is left out is missing for other applications",
    )


def _relinked(situation: Situation, row: int, path: str, entry: FileEntry) -> Iterator[Offer]:
    """Yield the offer to order the functions of a program or library."""
    variant, page_size = situation.present[0], situation.recording.page_size
    code = code_of(_content(situation.root, path))
    parts = _parts(code.sections, page_size) or free_parts(entry, _size(situation, row), page_size)
    pages = page_order(variant, row, parts)
    if not pages:
        return
    change = partial(_ordered, path=path, parts=parts, code=True)
    if code.functions:
        flat = [*dict.fromkeys(page for part in pages.values() for page in part)]
        listed = on_pages(code.functions, flat, page_size)
        fixed = fixed_pages(variant.run.program, row, page_size)
        shares: dict[int, Shares] = {}
        for section in code.sections:
            shares |= placed(section, code.functions, listed, fixed, page_size)
        change = partial(_placed, path=path, places=Places(shares), parts=parts)
    lists = linker_lists(path, code, pages, page_size)
    yield Offer(
        "order",
        f"order {path}",
        f"functions of {path} in the order in which the start uses them",
        change,
        tuple(_how(situation, path, lists)),
        "a new link",
        "pages are known, not functions: the list has all functions of each page",
        lists=lists,
    )


def _parts(sections: Iterable[Section], page_size: int) -> tuple[Part, ...]:
    """Return the pages that have a byte of a section, each page once."""
    parts: list[Part] = []
    for section in sections:
        first = max(section.at // page_size, parts[-1][1] if parts else 0)
        parts.append((first, -(-section.end // page_size)))
    return tuple(parts)


def _how(situation: Situation, path: str, lists: Mapping[str, bytes]) -> Iterator[str]:
    symbols, sections, script, _ = _names(path)
    if symbols not in lists:
        lacks = "the file has no symbols" if situation.root else "symbols are unknown"
        yield f"{lacks}; with the unstripped file below DIR, this writes lists for the linker:"
        yield _with_root(situation)
        return
    yield f"build with -ffunction-sections -fuse-ld=lld -Wl,--symbol-ordering-file={symbols}"
    if sections in lists:
        yield f"or -ffunction-sections -fuse-ld=gold -Wl,--section-ordering-file={sections}"
        yield f"or -ffunction-sections -Wl,-T,{script} (GNU ld)"
    else:
        yield (
            "gold and GNU ld have no list here: in a static program they move no function of a "
            "library that was built without -ffunction-sections, such as the C library"
        )


def _with_root(situation: Situation) -> str:
    return shlex.join(["foreread", "advise", situation.path, "--root", "DIR", "-o", "advice"])


def linker_lists(
    path: str, code: Code, pages: dict[int, list[int]], page_size: int
) -> dict[str, bytes]:
    """Return lists for a file by name: its pages in order, and where symbols are known, functions.

    ``.symbols`` has a function a line (lld: --symbol-ordering-file). Of all but static programs,
    ``.sections`` has the section of each, as -ffunction-sections names them (gold:
    --section-ordering-file), and ``.ld`` the same as an output section (GNU ld: -T): these two
    linkers cannot move the functions of most static libraries. ``pages`` are the pages of each part
    of the file in the order of their first access.
    """
    symbols, sections, script, names = _names(path)
    flat = [*dict.fromkeys(page for part in pages.values() for page in part)]
    lists = {names: "".join(f"{page}\n" for page in flat).encode()}
    functions = on_pages(code.functions, flat, page_size)
    if not functions:
        return lists
    # Static functions of several files may share a name, which lld orders once and warns of.
    ordered_names = dict.fromkeys(function.name for function in functions)
    lists[symbols] = "".join(f"{name}\n" for name in ordered_names).encode()
    if not code.is_static:
        wanted = dict.fromkeys(
            part for function in functions for part in _sections_of(function.name)
        )
        lists[sections] = "".join(f"{section}\n" for section in wanted).encode()
        lists[script] = _script(wanted).encode()
    return lists


def _script(sections: Iterable[str]) -> str:
    """Return input sections as a linker script, without names that it could not have.

    They are patterns there, and a symbol of a hostile file could end the statement. INSERT adds the
    output section to the linker's own script (GNU ld manual, 3.6.5; since 2.19).
    """
    plain = (section for section in sections if _PLAIN.fullmatch(section))
    begin, end = f"SECTIONS\n{{\n  {ORDERED} :\n  {{\n", "  }\n}\nINSERT BEFORE .text;\n"
    return "".join([begin, *(f"    *({section})\n" for section in plain), end])


def _sections_of(name: str) -> Iterator[str]:
    """Yield the input sections that may have a function (gcc/varasm.cc: function sections)."""
    if name.endswith(_COLD):
        yield f".text.unlikely.{name.removesuffix(_COLD)}"
        return
    if name == "main" or name.startswith(_STARTUP):
        yield f".text.startup.{name}"
    yield f".text.{name}"


def _names(path: str) -> tuple[str, str, str, str]:
    name = "-".join(PurePosixPath(path).parts[1:])[-_LONGEST_NAME:]
    return f"{name}.symbols", f"{name}.sections", f"{name}.ld", f"{name}.pages"


def _content(root: Path | None, path: str) -> bytes:
    """Return the file below ``root``; nothing where there is none that can be read."""
    if root is None:
        return b""
    try:
        place = rooted(root, path)
        return b"" if place is None else read_bounded(place, MOST_BYTES, "give another --root DIR")
    except (OSError, UnboundedError):
        return b""


def _ordered(variant: Variant, path: str, parts: tuple[Part, ...], code: bool = False) -> Variant:
    for row in files_of(variant.start.recording, [path]):
        variant = ordered(variant, row, parts, code) or variant
    return variant


def _placed(variant: Variant, path: str, places: Places, parts: tuple[Part, ...]) -> Variant:
    chosen = places.chosen(variant.linking)
    for row in files_of(variant.start.recording, [path]):
        variant = with_pages_at(variant, row, chosen, parts) or variant
    return variant
