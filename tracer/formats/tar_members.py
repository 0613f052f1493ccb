"""The members of a tar archive, one after another, within the limits of ``limits.py``.

tarfile is not used to read archives that may come from anybody: it holds pax headers and long names
of any size in memory, follows chains of them by recursion, and makes files out of holes. Formats:
ustar and pax (POSIX.1-2017, pax, EXTENDED DESCRIPTION), GNU and V7 (GNU tar manual, Basic Tar
Format).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from foreread.boards.base.units import size_text
from foreread.tracer.formats.decompressed import Decompressed
from foreread.tracer.formats.limits import (
    MOST_END_BYTES,
    MOST_EXTENSION_BYTES,
    MOST_EXTENSIONS,
    MOST_MEMBERS,
    LimitError,
)

BLOCK = 512
_PIECE = 1 << 18
_REPACK = "unpack it with tar, pack the capture's directory again, and give that archive"
_UNPACK = "unpack it with tar and give the capture's directory"
_FILES = (b"0", b"\0", b"7")
_WITHOUT_CONTENT = (b"1", b"2", b"3", b"4", b"5", b"6")  # whatever size they state
_PAX, _GLOBAL, _LONG_NAME, _LONG_LINK, _SPARSE = b"x", b"g", b"L", b"K", b"S"
_EXTENSIONS = (_PAX, _GLOBAL, _LONG_NAME, _LONG_LINK, b"X")  # X: pax of Solaris
_SPARSE_KEY = b"GNU.sparse."


class TarDamage(ValueError):
    """Bytes that are not a tar archive's; callers name the archive."""


@dataclass(frozen=True)
class Member:
    """One member; ``is_file`` if it is a regular file."""

    name: str
    size: int
    is_file: bool


class TarReader:
    """Iterates over the members; ``pieces`` reads the content of the one last returned.

    The archive is read as a stream, up to its end. Raises LimitError and DAMAGE of
    ``decompressed.py``, TarDamage included; none of the messages names the archive.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._stream = Decompressed(file)
        self._left = 0  # bytes of the present member, and those that fill its last block
        self._fill = 0
        self._headers = 0

    def __iter__(self) -> Iterator[Member]:
        """Read the headers, and skip what was not read of the contents."""
        while (member := self._next()) is not None:
            yield member

    def pieces(self) -> Iterator[bytes]:
        """Yield the content of the present member."""
        while self._left:
            piece = self._stream.read(min(self._left, _PIECE))
            if not piece:
                raise TarDamage("the archive ends inside a member")
            self._left -= len(piece)
            yield piece

    def _next(self) -> Member | None:
        name: bytes | None = None
        size: int | None = None
        for _ in range(MOST_EXTENSIONS + 1):
            block = self._header()
            if block is None:
                return None
            kind = block[156:157]
            if kind not in _EXTENSIONS:
                return self._member(block, name, size)
            content = self._extension(block)
            if kind == _LONG_NAME:
                name = content.rstrip(b"\0")
            elif kind in (_PAX, b"X"):
                name, size = _pax(content, name, size)
        raise LimitError(
            f"more than {MOST_EXTENSIONS} extended headers stand before one member", _REPACK
        )

    def _header(self) -> bytes | None:
        """Return the next header; None at the end of the archive."""
        for _ in self.pieces():
            pass
        self._skip_fill()
        block = self._stream.read(BLOCK)
        if not block:
            raise TarDamage("the archive has no end mark")
        if block.count(0) == BLOCK:
            self._check_end()
            return None
        self._headers += 1
        if self._headers > MOST_MEMBERS:
            raise LimitError(f"it has more than {MOST_MEMBERS:,} members", _REPACK)
        if not is_header(block):
            raise TarDamage(f"no member begins at byte {self._stream.offset - len(block)}")
        return block

    def _skip_fill(self) -> None:
        if len(self._stream.read(self._fill)) < self._fill:
            raise TarDamage("the archive ends inside a member")
        self._fill = 0

    def _check_end(self) -> None:
        """Read what follows the end mark: a compressed archive's checksum is at its very end."""
        left = MOST_END_BYTES
        while left > 0 and (block := self._stream.read(min(left, _PIECE))):
            left -= len(block)
            if block.count(0) != len(block):
                raise TarDamage("something follows the end mark of the archive")
        if left <= 0:
            raise LimitError(f"its end has more than {size_text(MOST_END_BYTES)} of zeros", _REPACK)

    def _member(self, block: bytes, name: bytes | None, size: int | None) -> Member:
        kind = block[156:157]
        name = _name(block) if name is None else name
        shown = name.decode("utf-8", "surrogateescape")
        if kind == _SPARSE:
            raise _sparse(shown)
        size = _number(block[124:136]) if size is None else size
        self._begin(0 if kind in _WITHOUT_CONTENT else size)
        return Member(shown, size, kind in _FILES and not shown.endswith("/"))

    def _extension(self, block: bytes) -> bytes:
        size = _number(block[124:136])
        if size > MOST_EXTENSION_BYTES:
            raise LimitError(
                f"an extended header (pax, or a long name) has {size_text(size)}, and at most "
                f"{size_text(MOST_EXTENSION_BYTES)} are read",
                _REPACK,
            )
        self._begin(size)
        return b"".join(self.pieces())

    def _begin(self, size: int) -> None:
        self._left, self._fill = size, -size % BLOCK


def is_header(block: bytes) -> bool:
    """Return whether a block is a tar header, by its checksum."""
    if len(block) < BLOCK:
        return False
    try:
        stated = _octal(block[148:156])
    except TarDamage:
        return False
    rest = block[:148] + block[156:]
    unsigned = sum(rest) + 8 * ord(" ")
    # Old tars summed signed characters.
    return stated == unsigned or stated == unsigned - 256 * sum(byte > 127 for byte in rest)


def _octal(field: bytes) -> int:
    text = field.strip(b" \0")
    if not text:
        return 0
    if not text.isdigit() or b"8" in text or b"9" in text:
        raise TarDamage("a number in a header is damaged")
    return int(text, 8)


def _number(field: bytes) -> int:
    """Return a size: octal digits, or GNU's binary one."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    return _octal(field.partition(b"\0")[0])


def _name(block: bytes) -> bytes:
    name = block[:100].partition(b"\0")[0]
    prefix = block[345:500].partition(b"\0")[0]
    if block[257:263] == b"ustar\0" and prefix:  # GNU keeps other things there
        return prefix + b"/" + name
    return name


def _pax(content: bytes, name: bytes | None, size: int | None) -> tuple[bytes | None, int | None]:
    """Return the name and the size that records of a pax header give, else those known."""
    at = 0
    while at < len(content) and content[at]:
        digits, space, _ = content[at : at + 8].partition(b" ")
        if not space or not digits.isdigit() or not len(digits) < int(digits) <= len(content) - at:
            raise TarDamage("a pax header is damaged")
        key, _, value = content[at + len(digits) + 1 : at + int(digits) - 1].partition(b"=")
        at += int(digits)
        if key.startswith(_SPARSE_KEY):
            raise _sparse("")
        if key == b"path":
            name = value
        elif key == b"size":
            if not value.isdigit() or len(value) > 20:
                raise TarDamage("a pax header states an impossible size")
            size = int(value)
    return name, size


def _sparse(name: str) -> LimitError:
    what = f"member {name}" if name else "a member"
    return LimitError(f"{what} is stored as a sparse file", _UNPACK)
