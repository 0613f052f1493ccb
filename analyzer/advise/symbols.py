"""The functions of an ELF file by their place in it (System V gABI, chapters 4 and 5).

The file is hostile input: every place is checked against the file's end, and numbers have limits.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

MOST_BYTES = 1 << 30  # of a file that is read
MOST_SYMBOLS = 4 << 20
_MOST_TEXTS = 16  # sections of code; real files have up to 5
_SYMTAB, _DYNAMIC, _DYNSYM = 2, 6, 11  # sh_type
_EXEC = 2  # e_type
_NEEDED, _FLAGS_1, _PIE = 1, 0x6FFFFFFB, 0x08000000  # DT_NEEDED, DT_FLAGS_1, DF_1_PIE
_EXECINSTR = 4  # sh_flags
_NOBITS = 8
_FUNC, _IFUNC = 2, 10  # ELF_ST_TYPE
_LONGEST_NAME = 4096


@dataclass(frozen=True)
class Function:
    """A function: its bytes in the file, and the name of its section."""

    name: str
    at: int
    size: int
    section: str


@dataclass(frozen=True)
class Section:
    """Bytes [at, end) of a file."""

    at: int
    end: int


@dataclass(frozen=True)
class Code:
    """What a linker can order of an ELF file: functions, in order of place, and their sections.

    The sections are those that ``-ffunction-sections`` divides. ``is_static`` is true of a program
    that needs no library.
    """

    functions: tuple[Function, ...] = ()
    sections: tuple[Section, ...] = ()
    is_static: bool = False


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    flags: int
    address: int
    at: int
    size: int
    link: int
    each: int


def code_of(data: bytes) -> Code:
    """Return what a linker can order of an ELF file; nothing if it is not one."""
    try:
        sections = [*_sections(data)]
        is_static = _is_static(data, sections)
    except (struct.error, IndexError, ValueError):
        return Code()
    text = {
        section.name
        for section in sections
        if section.flags & _EXECINSTR and _is_text(section.name)
    }
    spans = sorted(
        (section.at, section.at + section.size)
        for section in sections
        if section.name in text
        and section.kind != _NOBITS
        and 0 <= section.at < section.at + section.size <= len(data)
    )
    apart = all(before[1] <= two[0] for before, two in pairwise(spans))
    if not apart or len(spans) > _MOST_TEXTS:
        return Code()
    functions = tuple(function for function in functions_of(data) if function.section in text)
    return Code(functions, tuple(Section(*span) for span in spans), is_static)


def functions_of(data: bytes) -> list[Function]:
    """Return the functions of an ELF file in order of place; none if it has none, or is not ELF.

    From its symbol table, or where that was stripped, from its dynamic symbols.
    """
    try:
        sections = [*_sections(data)]
        tables = sorted(
            (section for section in sections if section.kind in (_SYMTAB, _DYNSYM)), key=_first
        )
        symbols = next(
            (rows for table in tables if (rows := [*_symbols(data, sections, table)])), []
        )
    except (struct.error, IndexError, ValueError):
        return []
    return sorted(symbols, key=lambda function: (function.at, function.name))


def on_pages(functions: Iterable[Function], pages: Iterable[int], page_size: int) -> list[Function]:
    """Return the functions that have a byte on ``pages``, in the order of the pages, each once."""
    ordered = sorted(functions, key=lambda function: function.at)
    starts = np.array([function.at for function in ordered], np.int64)
    longest = max((function.size for function in ordered), default=0)
    touching: dict[Function, None] = {}
    for page in pages:
        begin, end = page * page_size, (page + 1) * page_size
        first = int(np.searchsorted(starts, begin - longest))
        for function in ordered[first : int(np.searchsorted(starts, end))]:
            if function.at + max(function.size, 1) > begin:
                touching.setdefault(function)
    return [*touching]


def _is_text(section: str) -> bool:
    return section == ".text" or section.startswith(".text.")


def _is_static(data: bytes, sections: Iterable[_Section]) -> bool:
    """Return whether a file is a program that names no library."""
    wide, order = data[4] == 2, "<" if data[5] == 1 else ">"
    (kind,) = struct.unpack_from(f"{order}H", data, 16)
    word = np.dtype(f"{order}{'u8' if wide else 'u4'}")
    is_program, needed = kind == _EXEC, False
    for section in (candidate for candidate in sections if candidate.kind == _DYNAMIC):
        part = _part(data, section.at, section.size)
        rows = np.frombuffer(part, np.dtype((word, 2)), len(part) // (2 * word.itemsize))
        needed |= bool((rows[:, 0] == _NEEDED).any())
        is_program |= bool((rows[rows[:, 0] == _FLAGS_1, 1] & _PIE).any())
    return is_program and not needed


def _first(section: _Section) -> bool:
    return section.kind != _SYMTAB


def _sections(data: bytes) -> Iterator[_Section]:
    """Yield the sections of an ELF file."""
    if len(data) > MOST_BYTES or data[:4] != b"\x7fELF" or data[4] not in (1, 2):
        return
    wide, order = data[4] == 2, "<" if data[5] == 1 else ">"
    at, each, number, names = _header(data, wide, order)
    if at <= 0 or at + each * number > len(data):
        return
    layout = f"{order}IIQQQQIIQQ" if wide else f"{order}IIIIIIIIII"
    if each < struct.calcsize(layout):
        return
    rows = [struct.unpack_from(layout, data, at + each * row) for row in range(number)]
    text = _part(data, rows[names][4], rows[names][5])
    for name, kind, flags, address, place, size, link, _, _, entry in rows:
        yield _Section(_name(text, name), kind, flags, address, place, size, link, entry)


def _header(data: bytes, wide: bool, order: str) -> tuple[int, int, int, int]:
    """Return e_shoff, e_shentsize, e_shnum and e_shstrndx."""
    (at,) = struct.unpack_from(f"{order}{'Q' if wide else 'I'}", data, 40 if wide else 32)
    each, number, names = struct.unpack_from(f"{order}3H", data, 58 if wide else 46)
    return at, each, number, names


def _symbols(data: bytes, sections: list[_Section], table: _Section) -> Iterator[Function]:
    """Yield the functions of one symbol table."""
    wide, order = data[4] == 2, "<" if data[5] == 1 else ">"
    kind = _symbol_type(wide, order)
    part = _part(data, table.at, table.size)
    rows = np.frombuffer(part, kind, min(len(part) // kind.itemsize, MOST_SYMBOLS))
    text = _part(data, sections[table.link].at, sections[table.link].size)
    types = rows["info"] & 0xF
    inside = (rows["section"] > 0) & (rows["section"] < len(sections))
    for row in np.flatnonzero(np.isin(types, (_FUNC, _IFUNC)) & inside).tolist():
        section = sections[int(rows["section"][row])]
        if section.kind == _NOBITS or not section.flags & _EXECINSTR:
            continue
        at = section.at + int(rows["value"][row]) - section.address
        name = _name(text, int(rows["name"][row]))
        if name and section.at <= at < section.at + section.size:
            yield Function(name, at, min(int(rows["size"][row]), section.size), section.name)


def _symbol_type(wide: bool, order: str) -> np.dtype[np.void]:
    names32 = ("name", "value", "size", "info", "other", "section")
    names64 = ("name", "info", "other", "section", "value", "size")
    if wide:
        types = ("u4", "u1", "u1", "u2", "u8", "u8")
        return np.dtype([(n, order + t) for n, t in zip(names64, types, strict=True)])
    types = ("u4", "u4", "u4", "u1", "u1", "u2")
    return np.dtype([(n, order + t) for n, t in zip(names32, types, strict=True)])


def _part(data: bytes, at: int, size: int) -> bytes:
    """Return a part of the file. Raises ValueError beyond its end."""
    if at < 0 or size < 0 or at + size > len(data):
        raise ValueError("beyond the end of the file")
    return data[at : at + size]


def _name(text: bytes, at: int) -> str:
    """Return the name that begins at a place of a string table; "" if it is not a word."""
    end = text.find(b"\0", at, at + _LONGEST_NAME)
    name = text[at:end] if 0 <= at < len(text) and end >= 0 else b""
    return name.decode() if _plain(name) else ""


def _plain(name: bytes) -> bool:
    """Return whether a name can stand alone in a line of a linker's list."""
    return bool(name) and all(0x21 <= octet < 0x7F for octet in name) and not name.startswith(b"#")
