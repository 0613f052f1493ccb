"""Offers to lay out files in the order in which the start accesses them, with lists for linkers."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path, PurePosixPath

import numpy as np

from analyzer.advise.known import KnownFile, kind_of
from analyzer.advise.offer import Offer
from analyzer.advise.order import Part, free_parts, ordered, page_order
from analyzer.advise.situation import Situation, files_of, requests_by_file
from analyzer.advise.symbols import MOST_BYTES, functions_of, on_pages
from analyzer.advise.variant import Variant
from analyzer.prefetch.listing import can_be_listed
from analyzer.prefetch.rooted import rooted
from boards.bounded import UnboundedError, read_bounded

MOST_FILES = 12
_LONGEST_NAME = 100  # of a list's file, without its suffix
_PLAIN = re.compile(r"[A-Za-z0-9_.$]+")  # a name without wildcards in a linker script


def orders(situation: Situation) -> Iterator[Offer]:
    """Yield an offer for each library, program and known file among those with most requests."""
    variant = situation.present[0]
    recording = situation.recording
    made = requests_by_file(variant)
    for row in np.argsort(-made, kind="stable")[:MOST_FILES].tolist():
        path = recording.paths[row]
        entry = recording.entries[row] if row < len(recording.entries) else None
        known = None if path is None else kind_of(path)
        is_elf = entry is not None and bool(entry.segments)
        if path is None or not can_be_listed(path) or not (known or is_elf):
            continue
        size = int(recording.files["size_bytes"][row])
        parts = free_parts(None if known else entry, size, recording.page_size)
        pages = page_order(variant, row, parts)
        if not pages:
            continue
        change = partial(_ordered, path=path, parts=parts)
        if known:
            yield _smaller(path, known, change)
        else:
            yield _relinked(situation, path, pages, change)


def _smaller(path: str, known: KnownFile, change: partial[Variant]) -> Offer:
    return Offer(
        "order",
        f"order {path}",
        f"{known.name} {path} with nothing but what the start uses, in order",
        change,
        (known.how,),
        "packaging",
        "what is left out is missing for other applications",
    )


def _relinked(
    situation: Situation, path: str, pages: dict[int, list[int]], change: partial[Variant]
) -> Offer:
    lists = linker_lists(path, _content(situation.root, path), pages, situation.recording.page_size)
    return Offer(
        "order",
        f"order {path}",
        f"functions of {path} in the order in which the start uses them",
        change,
        tuple(_how(situation, path, lists)),
        "a new link",
        "pages are known, not functions: the list has all functions of each page",
        lists=lists,
    )


def _how(situation: Situation, path: str, lists: Mapping[str, bytes]) -> Iterator[str]:
    symbols, sections, script, _ = _names(path)
    if symbols in lists:
        yield f"build with -ffunction-sections -fuse-ld=lld -Wl,--symbol-ordering-file={symbols}"
        yield f"or -ffunction-sections -fuse-ld=gold -Wl,--section-ordering-file={sections}"
        yield f"or -ffunction-sections -Wl,--section-ordering-file={script} (GNU ld since 2.43)"
        yield "gold and GNU ld leave static libraries where they are, and save less than predicted"
        return
    words = ["foreread", "advise", situation.path, "--root", "DIR", "-o", "advice"]
    lacks = "the file has no symbols" if situation.root else "symbols are unknown"
    yield f"{lacks}; with the unstripped file below DIR, this writes lists for the linker:"
    yield shlex.join(words)


def linker_lists(
    path: str, content: bytes, pages: dict[int, list[int]], page_size: int
) -> dict[str, bytes]:
    """Return lists for a file by name: its pages in order, and where symbols are known, functions.

    ``.symbols`` has a function a line (lld: --symbol-ordering-file), ``.sections`` the section of
    each, as -ffunction-sections names them (gold: --section-ordering-file), ``.ld`` the same as an
    output section, as GNU ld has it since 2.43 (--section-ordering-file). ``pages`` are the pages
    of each part of the file in the order of their first access.
    """
    symbols, sections, script, names = _names(path)
    flat = [page for part in pages.values() for page in part]
    found = {names: "".join(f"{page}\n" for page in flat).encode()}
    functions = on_pages(functions_of(content), flat, page_size)
    if functions:
        # Static functions of several files may share a name, which lld orders once and warns of.
        ordered_names = dict.fromkeys(one.name for one in functions)
        found[symbols] = "".join(f"{one}\n" for one in ordered_names).encode()
        wanted = dict.fromkeys(_section(one.section, one.name) for one in functions)
        found[sections] = "".join(f"{one}\n" for one in wanted).encode()
        found[script] = _script(wanted).encode()
    return found


def _script(sections: Iterable[str]) -> str:
    """Return input sections as statements of a linker script, without names that it could not have.

    They are patterns there, and a symbol of a hostile file could end the statement.
    """
    plain = (one for one in sections if _PLAIN.fullmatch(one))
    return "".join([".text :\n{\n", *(f"  *({one})\n" for one in plain), "}\n"])


def _section(section: str, name: str) -> str:
    """Return the input section that -ffunction-sections puts a function into."""
    return f"{section}.{name}" if section == ".text" else section


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


def _ordered(variant: Variant, path: str, parts: tuple[Part, ...]) -> Variant:
    for row in files_of(variant.start.recording, [path]):
        variant = ordered(variant, row, parts) or variant
    return variant
