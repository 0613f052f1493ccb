"""Extracts the messages of agent.sh from a console's output.

The kernel writes into the middle of lines, and bytes get lost: a block is accepted only if its
checksum is right, as received or after removing the kernel's text.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

SUMS = ("md5sum", "sha1sum", "sha256sum")
LARGEST_BLOCK = 1 << 20
NOISE_KEPT = 2000
# printk's time, and the caller where the kernel shows it (CONFIG_PRINTK_CALLER).
_KERNEL_LINE = re.compile(rb"\[ *\d+\.\d{6}\](?:\[ *[CT]\d+\])? [^\n]*\n")
_HEAD = re.compile(rb"\d{1,9} (?:out|err) \d{1,9} (?:raw|gzip)")
_BEGAN = re.compile(rb"([+!]) ([ -~]{1,80})")
# The line repeats the number, since it has no checksum.
_ENDED = re.compile(rb"= (\d{1,9}) (\d{1,3}) \2")
_ANSWER = re.compile(rb" (\d{1,9})( failed)?")


@dataclass(frozen=True)
class Answer:
    """The agent's answer to the line of that number; ``failed``: no space for the line's data."""

    number: int
    failed: bool


@dataclass(frozen=True)
class Began:
    """The agent has started; ``form`` is the encoding of its blocks.

    A text in ``amiss`` is the reason why the agent ends.
    """

    form: str
    amiss: str


@dataclass(frozen=True)
class Block:
    """A complete block: number of the command, kind, index, and the encoded body.

    ``packing`` is "raw" or "gzip".
    """

    number: int
    kind: str
    index: int
    packing: str
    body: bytes


@dataclass(frozen=True)
class Ended:
    """The end of the command of that number, with its exit status."""

    number: int
    status: int


@dataclass(frozen=True)
class Sign:
    """A state: ``alive``: still running; ``damaged``: an incomplete block; ``left``: ended."""

    what: str


Event = Answer | Began | Block | Ended | Sign


class Listener:
    """Converts received bytes into events."""

    def __init__(self, mark: str, sum_name: str) -> None:
        self._noise = b""
        self._mark = mark.encode()
        self._sum = sum_name.removesuffix("sum")
        self._buffer = b""

    @property
    def noise(self) -> bytes:
        """The end of the output that is neither an answer nor a complete block."""
        return (self._noise + self._buffer)[-NOISE_KEPT:]

    @property
    def in_block(self) -> bool:
        """Whether a block has begun and not ended."""
        return self._buffer.startswith(self._mark + b"<")

    def feed(self, data: bytes) -> Iterator[Event]:
        """Yield the events that ``data`` completes."""
        self._buffer += data.replace(b"\r", b"").replace(b"\0", b"")
        while (event := self._next()) is not None:
            yield event

    def _next(self) -> Event | None:
        """Return the next event and remove it from the buffer; None if there is no whole event."""
        while True:
            before, mark, after = self._buffer.partition(self._mark)
            # Keep a possible first half of a mark.
            kept = len(before) if mark else max(0, len(before) - len(self._mark) + 1)
            self._note(before[:kept])
            if not mark:
                self._buffer = before[kept:]
                return None
            self._buffer = mark + after
            if not after:
                return None
            sign = after[:1]
            if sign == b"<":
                return self._block()
            if sign in b" +!=":
                return self._answer(after)
            self._buffer = after[1:]
            if sign in b"-.>":
                return Sign({b"-": "alive", b".": "left", b">": "damaged"}[sign])

    def _answer(self, after: bytes) -> Event | None:
        line, newline, rest = after.partition(b"\n")
        if not newline:
            return None
        self._buffer = rest
        if began := _BEGAN.fullmatch(line):
            text = began[2].decode("ascii", "replace")
            return Began(text, "") if began[1] == b"+" else Began("", text)
        if ended := _ENDED.fullmatch(line):
            return Ended(int(ended[1]), int(ended[2]))
        words = _ANSWER.fullmatch(line)
        return Answer(int(words[1]), bool(words[2])) if words else Sign("damaged")

    def _block(self) -> Event | None:
        start = len(self._mark) + 1
        end = self._buffer.find(self._mark + b">", start)
        again = self._buffer.find(self._mark + b"<", start)
        if again >= 0 and (end < 0 or again < end):  # the end of the first block was lost
            self._buffer = self._buffer[again:]
            return Sign("damaged")
        if end < 0:
            if len(self._buffer) < LARGEST_BLOCK:
                return None
            self._buffer = b""
            return Sign("damaged")
        raw = self._buffer[start:end]
        self._buffer = self._buffer[end + start :]
        return self._checked(raw)

    def _checked(self, raw: bytes) -> Event:
        own = raw.replace(self._mark + b"-\n", b"")
        for text in (own, _KERNEL_LINE.sub(b"", own)):
            checksum, _, body = text.partition(b"\n")
            if hashlib.new(self._sum, body).hexdigest().encode() == checksum.strip():
                return _parsed(body)
        return Sign("damaged")

    def _note(self, noise: bytes) -> None:
        self._noise = (self._noise + noise)[-NOISE_KEPT:]


def _parsed(text: bytes) -> Event:
    head, _, body = text.partition(b"\n")
    words = _HEAD.fullmatch(head)
    if words is None:
        return Sign("damaged")
    number, kind, index, packing = words[0].decode().split(" ")
    return Block(int(number), kind, int(index), packing, body)


def decode(block: Block, form: str) -> bytes:
    """Return the content of a block with a ``base64`` or ``hex`` body; raises ValueError."""
    digits = b"".join(block.body.split())
    try:
        data = bytes.fromhex(digits.decode()) if form == "hex" else base64.b64decode(digits)
        return data if block.packing == "raw" else _unpacked(data)
    except (binascii.Error, zlib.error) as error:
        raise ValueError(str(error)) from error


def _unpacked(data: bytes) -> bytes:
    gzip = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    unpacked = gzip.decompress(data, LARGEST_BLOCK)
    if not gzip.eof:
        raise ValueError("a packed block that is cut off, or far too large")
    return unpacked


def checked_line(words: str, sum_name: str) -> bytes:
    """Return a line that the agent accepts: the checksum of ``words``, and the words."""
    data = words.encode("ascii")
    digest = hashlib.new(sum_name.removesuffix("sum"), data + b"\n").hexdigest()
    return digest.encode() + b" " + data + b"\n"


def printf_pieces(data: bytes, size: int) -> Iterator[str]:
    """Yield printf formats of at most ``size`` + 6 characters that print ``data``.

    The formats have no single quotes and no ``!``, and neither begin nor end with a space or a
    dash.
    """
    piece: list[str] = []
    length = 0
    for byte in data:
        word = _ESCAPED[byte]
        if length + len(word) > size:
            yield _sealed(piece)
            piece, length = [], 0
        piece.append(word)
        length += len(word)
    if piece:
        yield _sealed(piece)


def _sealed(piece: list[str]) -> str:
    for end in (0, -1):
        if piece[end] in (" ", "-"):
            piece[end] = f"\\{ord(piece[end]):03o}"
    return "".join(piece)


def _escaped(byte: int) -> str:
    plain = 0x20 <= byte < 0x7F and chr(byte) not in "'!\\%"
    return chr(byte) if plain else {9: r"\t", 10: r"\n"}.get(byte, f"\\{byte:03o}")


_ESCAPED = [_escaped(byte) for byte in range(256)]
