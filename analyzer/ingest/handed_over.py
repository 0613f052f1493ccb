"""Results of the process that reads a capture, handed to its caller in memory that both can map.

Arrays stay outside of the pickle (protocol 5, PEP 574), each at its own place of a memfd: nothing
is copied by the receiver. The memory is sealed, so that a sender that fails cannot cut it short,
and mapped privately, so that the arrays can be written to. Only the project's own types and numpy's
arrays are made from what arrives.
"""

from __future__ import annotations

import fcntl
import importlib
import io
import mmap
import os
import pickle
import socket
import struct
from typing import Any

_ALIGNMENT = 64
_INLINE_BYTES = 1 << 15  # a small result travels in the message itself
_MESSAGE_BYTES = 1 << 16
_INLINE, _MAPPED = b"I", b"M"
_END = struct.Struct("<QQQ")  # where the places of the buffers begin, their number, pickle's size
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
_ROOMS = ("foreread.analyzer.ingest.", "foreread.tracer.formats.", "foreread.boards.")
_KNOWN = {
    ("builtins", "set"),
    ("builtins", "frozenset"),
    ("builtins", "bytearray"),
    ("msgspec._core", "UNSET"),  # what a known cost of a disk does not say
    ("msgspec._core", "rebuild"),
    ("msgspec._utils", "rebuild"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    *(
        (f"numpy.{core}.{module}", name)
        for core in ("core", "_core")
        for module, name in (
            ("numeric", "_frombuffer"),
            ("multiarray", "_reconstruct"),
            ("multiarray", "scalar"),
        )
    ),
}


def send(channel: socket.socket, result: object) -> None:
    """Send a result; raises OSError if it cannot be sent."""
    buffers: list[pickle.PickleBuffer] = []
    text = pickle.dumps(result, 5, buffer_callback=buffers.append)
    size = len(text) + sum(buffer.raw().nbytes for buffer in buffers)
    if size <= _INLINE_BYTES:
        channel.sendall(_INLINE + pickle.dumps(result, 5))
        return
    memory = os.memfd_create("foreread", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        _fill(memory, text, buffers)
        fcntl.fcntl(memory, fcntl.F_ADD_SEALS, _SEALS)
        socket.send_fds(channel, [_MAPPED], [memory])
    finally:
        os.close(memory)


def receive(channel: socket.socket) -> Any:
    """Return the next result; raises EOFError if the sender has ended, ValueError for no result."""
    message, received, _, _ = socket.recv_fds(channel, _MESSAGE_BYTES, 1)
    try:
        if message[:1] == _INLINE:
            return _Unpickler(io.BytesIO(message[1:])).load()
        if message == _MAPPED and received:
            return _mapped(received[0])
    except (pickle.UnpicklingError, struct.error, AttributeError, ImportError, IndexError) as error:
        raise ValueError(f"an invalid result: {error}") from error
    finally:
        for descriptor in received:
            os.close(descriptor)
    raise EOFError("the sender has ended")


def _fill(memory: int, text: bytes, buffers: list[pickle.PickleBuffer]) -> None:
    places: list[int] = []
    at = 0
    for buffer in (*buffers, pickle.PickleBuffer(text)):
        block = buffer.raw()
        os.lseek(memory, at, os.SEEK_SET)
        _write(memory, block)
        places += (at, block.nbytes)
        at += block.nbytes + -block.nbytes % _ALIGNMENT
    os.lseek(memory, at, os.SEEK_SET)
    _write(memory, memoryview(struct.pack(f"<{len(places)}Q", *places)))
    _write(memory, memoryview(_END.pack(at, len(places), len(text))))


def _write(memory: int, block: memoryview) -> None:
    while block.nbytes:
        block = block[os.write(memory, block) :]


def _mapped(memory: int) -> Any:
    if fcntl.fcntl(memory, fcntl.F_GET_SEALS) & _SEALS != _SEALS:
        raise ValueError("a result that may still change")
    view = memoryview(
        mmap.mmap(memory, 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    )
    at, number, size = _END.unpack(view[-_END.size :])
    places = struct.unpack(f"<{number}Q", view[at : at + 8 * number])
    blocks = [
        view[start : start + length]
        for start, length in zip(places[::2], places[1::2], strict=True)
    ]
    if len(blocks[-1]) != size:
        raise ValueError("a result that was cut short")
    return _Unpickler(io.BytesIO(blocks[-1]), buffers=blocks[:-1]).load()


class _Unpickler(pickle.Unpickler):
    """Makes nothing but what a Recording consists of."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a type that a result may hold; raises UnpicklingError for others."""
        if (module, name) in _KNOWN:
            return super().find_class(module, name)
        if module.startswith(_ROOMS):
            kind = getattr(importlib.import_module(module), name)
            if isinstance(kind, type):
                return kind
        raise pickle.UnpicklingError(f"{module}.{name} in a result")
