r"""The text of a prefetch list, version 1 (docs/explanation/prefetch.md).

::

    foreread-prefetch 1
    kernel 6.1.0
    board aarch64\0040Some\0040Board
    capture 2026-01-31T12:00:00Z\0040/usr/bin/app
    order access
    0 16384 /usr/bin/app
    53248 8192
    0 4096 /usr/lib/libc.so.6

A range is its offset and length in bytes and the file's absolute path; without a path the range is
of the previous range's file. Texts and paths are one word: every byte that is not a printing ASCII
character, and the backslash, is ``\0`` and three octal digits, which printf %b of any shell reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from foreread.analyzer.error import AnalyzerError
from foreread.analyzer.ingest.arguments import StrPath
from foreread.boards.base.bounded import UnboundedError, read_bounded
from foreread.boards.base.brief import brief
from foreread.boards.base.written import write_whole

MAGIC = "foreread-prefetch 1"
# Limits that the replayers enforce (foreread-prefetch.c).
LARGEST_LIST = 16 << 20  # bytes
MOST_RANGES = 1 << 18
LONGEST_PATH = 4095  # bytes, PATH_MAX without its NUL
MOST_OFFSET = 10**18  # bytes, above any file's size
LARGEST_RANGE = 2 << 20  # bytes; longer ranges are split
_SELECT = "select processes with --pid PID,…"
_NOT_A_LIST = "give a list that `foreread prefetch` wrote"
_KEYS = ("kernel", "board", "capture", "order")
_PLAIN = re.compile(rb"[!-\[\]-~]+")  # printing, no space, no backslash
# Each octet as it stands in a list.
_WORDS = [
    octet if _PLAIN.fullmatch(octet) else b"\\0%03o" % ord(octet)
    for octet in map(int.to_bytes, range(256))
]
_ESCAPED = re.compile(rb"\\0([0-3][0-7][0-7])")
_HEADER = re.compile(rb"[a-z][a-z-]* [!-~]*")
_RANGE = re.compile(rb"(0|[1-9]\d{0,17}) (0|[1-9]\d{0,17})(?: (\S+))?")


class PrefetchError(AnalyzerError, ValueError):
    """A list that cannot be read, made or written; ``remedy`` says what to do."""


@dataclass(frozen=True)
class Range:
    """Part of a file in bytes; ``path`` is absolute, undecodable bytes as surrogate escapes."""

    path: str
    offset: int
    length: int


@dataclass(frozen=True, repr=False)
class Listing:
    """A list: its origin, and its ranges in the order of reading."""

    __repr__ = brief

    ranges: tuple[Range, ...]
    kernel: str = ""
    board: str = ""
    capture: str = ""
    order: str = "access"

    @property
    def size_bytes(self) -> int:
        """The bytes that the list brings into memory."""
        return sum(part.length for part in self.ranges)

    @property
    def files(self) -> int:
        """The number of files in the list."""
        return len({part.path for part in self.ranges})


def escaped(text: str) -> bytes:
    """Return a text as one word of the list. Raises PrefetchError if the text has no bytes."""
    try:
        octets = text.encode(errors="surrogateescape")
    except UnicodeEncodeError as error:
        raise PrefetchError(f"{text!r} is not a valid name", "record again") from error
    return b"".join(map(_WORDS.__getitem__, octets))


def can_be_listed(path: str | None) -> bool:
    """Return whether a list can name a file: its path is absolute and possible."""
    if path is None or not path.startswith("/") or "\0" in path:
        return False
    try:
        return len(path.encode(errors="surrogateescape")) <= LONGEST_PATH
    except UnicodeEncodeError:
        return False


def encode(listing: Listing) -> bytes:
    """Return the text of a list. Raises PrefetchError if a replayer would refuse it."""
    if len(listing.ranges) > MOST_RANGES:
        raise PrefetchError(
            f"the list has {len(listing.ranges):,} ranges, more than {MOST_RANGES:,}", _SELECT
        )
    head = [MAGIC.encode()]
    head += [key.encode() + b" " + escaped(getattr(listing, key)) for key in _KEYS]
    text = b"".join(line + b"\n" for line in (*head, *_lines(listing.ranges)))
    if len(text) > LARGEST_LIST:
        raise PrefetchError(
            f"the list has {len(text):,} bytes, more than {LARGEST_LIST:,}", _SELECT
        )
    return text


def _lines(ranges: Iterable[Range]) -> Iterator[bytes]:
    before = None
    for part in ranges:
        fits = 0 <= part.offset < MOST_OFFSET and 1 <= part.length <= LARGEST_RANGE
        if not fits or not can_be_listed(part.path):
            raise PrefetchError(f"cannot list {part}", "record again")
        name = b"" if part.path == before else b" " + escaped(part.path)
        yield b"%d %d%s" % (part.offset, part.length, name)
        before = part.path


def decode(text: bytes) -> Listing:
    """Return the list in a text; raises PrefetchError, which names the invalid line."""
    if len(text) > LARGEST_LIST:
        raise PrefetchError(f"larger than {LARGEST_LIST:,} bytes", "give a prefetch list")
    lines = text.split(b"\n")
    if lines[0] != MAGIC.encode():
        raise _refused(1, f"not {MAGIC!r}")
    if lines[-1]:
        raise _refused(len(lines), "cut off")
    headers: dict[str, str] = {}
    ranges: list[Range] = []
    for number, line in enumerate(lines[1:-1], 2):
        if not ranges and _HEADER.fullmatch(line):
            key, _, value = line.partition(b" ")
            headers[key.decode()] = _unescaped(value, number)
        elif len(ranges) == MOST_RANGES:
            raise _refused(number, f"more than {MOST_RANGES} ranges")
        else:
            ranges.append(_range(line, number, ranges[-1].path if ranges else None))
    return Listing(tuple(ranges), **{key: headers[key] for key in _KEYS if key in headers})


def write_listing(path: StrPath, listing: Listing) -> None:
    """Write the list that a replayer reads. Raises PrefetchError as ``encode``, and OSError."""
    write_whole(path, encode(listing))


def read_listing(path: Path) -> bytes:
    """Return the text of a list's file. Raises PrefetchError for an invalid list, and OSError."""
    try:
        text = read_bounded(path, LARGEST_LIST, _NOT_A_LIST)
    except UnboundedError as error:
        raise PrefetchError(str(error), error.remedy) from error
    try:
        decode(text)
    except PrefetchError as error:
        raise PrefetchError(f"{path}: {error}", error.remedy) from error
    return text


def _range(line: bytes, number: int, before: str | None) -> Range:
    match = _RANGE.fullmatch(line)
    if match is None:
        raise _refused(number, "not a range: write OFFSET LENGTH PATH")
    path = before if match[3] is None else _unescaped(match[3], number)
    if path is None or not can_be_listed(path):
        raise _refused(number, "not an absolute path")
    offset, length = int(match[1]), int(match[2])
    if not 1 <= length <= LARGEST_RANGE:
        raise _refused(number, f"the length must be 1 to {LARGEST_RANGE} bytes")
    return Range(path, offset, length)


def _unescaped(word: bytes, number: int) -> str:
    octets = _ESCAPED.sub(lambda match: bytes([int(match[1], 8)]), word)
    if _PLAIN.fullmatch(_ESCAPED.sub(b"", word) or b"-") is None:
        raise _refused(number, "a character that is not escaped")
    return octets.decode(errors="surrogateescape")


def _refused(number: int, why: str) -> PrefetchError:
    return PrefetchError(f"line {number}: {why}", _NOT_A_LIST)
