"""The bytes of a file that may be compressed with gzip, bzip2 or xz, as a stream within bounds."""

from __future__ import annotations

import bz2
import lzma
import zlib
from typing import BinaryIO, Protocol

from foreread.boards.base.units import size_text
from foreread.tracer.formats.limits import (
    MOST_ARCHIVE_BYTES,
    MOST_STREAMS,
    XZ_MEMORY_BYTES,
    LimitError,
)

_PACKED_BLOCK = 1 << 14  # small: what follows the end of a stream in it is copied
_PIECE = 1 << 18
GZIP, XZ, BZIP2 = b"\x1f\x8b", b"\xfd7zXZ\0", b"BZh"
MAGICS = (GZIP, XZ, BZIP2)

# What the decompressors raise for data that is not what they expect.
DAMAGE = (lzma.LZMAError, zlib.error, EOFError, OSError, ValueError)


class _Decompressor(Protocol):
    """The interface that lzma's and bz2's decompressors share."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes: ...


class _Gzip:
    """zlib's decompressor with the interface of the others."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def needs_input(self) -> bool:
        return not self._stream.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data

    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes:
        return self._stream.decompress(self._stream.unconsumed_tail + data, max_length)


def _decompressor(magic: bytes) -> _Decompressor | None:
    if magic.startswith(GZIP):
        return _Gzip()
    if magic.startswith(BZIP2):
        return bz2.BZ2Decompressor()
    if magic.startswith(XZ):
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY_BYTES)
    return None


class Decompressed:
    """Reads a file from its beginning to its end; it is not held in memory.

    ``read`` raises LimitError past MOST_ARCHIVE_BYTES, and one of DAMAGE for a damaged stream.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._packed = file.read(_PACKED_BLOCK)
        self._magic = self._packed[:6]
        self._stream = _decompressor(self._magic)
        self._streams = 1
        self._ready = b""
        self._total = 0

    @property
    def offset(self) -> int:
        """Return how many bytes have been read, after decompression."""
        return self._total - len(self._ready)

    def read(self, size: int) -> bytes:
        """Return the next ``size`` bytes; fewer only at the end of the file."""
        pieces = []
        while size > 0:
            if not self._ready:
                self._ready = self._next_piece()
                if not self._ready:
                    break
            pieces.append(self._ready[:size])
            self._ready = self._ready[size:] if size < len(self._ready) else b""
            size -= len(pieces[-1])
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _next_piece(self) -> bytes:
        piece = self._plain() if self._stream is None else self._unpacked()
        self._total += len(piece)
        if self._total > MOST_ARCHIVE_BYTES:
            raise LimitError(
                f"it unpacks to more than {size_text(MOST_ARCHIVE_BYTES)}",
                "unpack it with tar and give the capture's directory",
            )
        return piece

    def _plain(self) -> bytes:
        piece = self._packed or self._file.read(_PIECE)
        self._packed = b""
        return piece

    def _unpacked(self) -> bytes:
        """Return bytes of the present stream or of one that follows it; b"" at the end."""
        assert self._stream is not None
        while True:
            if self._stream.eof and not self._begin_next():
                return b""
            if self._stream.needs_input and not self._packed:
                self._packed = self._file.read(_PACKED_BLOCK)
                if not self._packed:
                    raise EOFError("the compressed data ends before its end mark")
            packed, self._packed = self._packed, b""
            piece = self._stream.decompress(packed, _PIECE)
            if piece:
                return piece

    def _begin_next(self) -> bool:
        """Begin the stream after the one that ended; False if there is none."""
        assert self._stream is not None
        rest = (self._stream.unused_data + self._packed).lstrip(b"\0")
        while len(rest) < len(self._magic) and (more := self._file.read(_PACKED_BLOCK)):
            rest = (rest + more).lstrip(b"\0")
        self._packed = rest
        if not rest:
            return False
        following = _decompressor(rest[:6])
        if following is None:
            raise EOFError("the compressed data is followed by something else")
        self._streams += 1
        if self._streams > MOST_STREAMS:
            raise LimitError(
                f"it consists of more than {MOST_STREAMS:,} compressed streams",
                "unpack it and pack it again with tar",
            )
        self._stream = following
        return True
