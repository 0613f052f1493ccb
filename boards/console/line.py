"""Bytes to and from a console: over a tty, TCP (a terminal server, QEMU), RFC 2217 or a socket."""

from __future__ import annotations

import contextlib
import os
import re
import select
import socket
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from foreread.boards.console.rfc2217 import Rfc2217End, pyserial
from foreread.boards.target import TargetError

DEFAULT_BAUD = 115200
LARGEST_PORT = 65535
CONNECT_S = 10.0
WRITE_S = 30.0
# Ten bits on the line for a byte: one to start, one to stop.
BITS_A_BYTE = 10

_HOST = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
_TCP = re.compile(
    rf"(?P<scheme>serial|rfc2217)://(?:(?P<host>{_HOST})|\[(?P<v6>[0-9a-fA-F:.]+)\])"
    r":(?P<port>\d{1,5})(?:\?baud=(?P<baud>[1-9]\d{1,7}))?"
)
_PATH = re.compile(r"serial://(?P<path>/[A-Za-z0-9_./:@+,=-]+)(?:\?baud=(?P<baud>[1-9]\d{1,7}))?")


@dataclass(frozen=True)
class SerialAddress:
    """Where a console is: a tty or a socket file at ``path``, or TCP at ``host`` and ``port``.

    ``rfc2217``: the server offers telnet with serial port control (RFC 2217), and sets the speed.
    """

    path: str | None = None
    baud: int = DEFAULT_BAUD
    host: str | None = None
    port: int | None = None
    rfc2217: bool = False

    @classmethod
    def parse(cls, url: str) -> SerialAddress:
        """Return the address in the URL; raises TargetError."""
        if file := _PATH.fullmatch(url):
            return cls(path=file["path"], baud=int(file["baud"] or DEFAULT_BAUD))
        tcp = _TCP.fullmatch(url)
        raw = tcp is not None and tcp["scheme"] == "serial"
        if tcp is None or not 0 < int(tcp["port"]) <= LARGEST_PORT or (raw and tcp["baud"]):
            raise TargetError(
                f"{url!r} is not a serial target",
                "use serial:///dev/ttyUSB0?baud=115200, serial://HOST:PORT for a console by raw"
                " TCP, or rfc2217://HOST:PORT?baud=115200 for one by RFC 2217",
            )
        baud = int(tcp["baud"] or DEFAULT_BAUD)
        return cls(None, baud, tcp["v6"] or tcp["host"], int(tcp["port"]), not raw)

    def __str__(self) -> str:
        speed = "" if self.baud == DEFAULT_BAUD else f"?baud={self.baud}"
        if self.path is not None:
            return f"serial://{self.path}{speed}"
        host = f"[{self.host}]" if ":" in (self.host or "") else self.host
        scheme = "rfc2217" if self.rfc2217 else "serial"
        return f"{scheme}://{host}:{self.port}{speed}"


class SerialLine:
    """An open line to a console; its methods raise TargetError if the line is cut."""

    def __init__(self, address: SerialAddress) -> None:
        self.address = address
        # Bits that a tty needs for a byte; the speed of a line behind TCP is unknown.
        self.byte_s = 0.0
        self._end = self._open()

    def close(self) -> None:
        """Close the line."""
        self._end.close()

    def read(self, timeout_s: float) -> bytes:
        """Wait for data and return them; empty after ``timeout_s`` without data."""
        try:
            data = self._end.receive(max(0.0, timeout_s))
        except OSError as error:
            raise self._cut(error.strerror or str(error)) from error
        if data == b"":
            raise self._cut("it was closed at the other end")
        return data or b""

    def write(self, data: bytes, piece: int = 0, gap_s: float = 0.0) -> None:
        """Send all of ``data``; with ``piece``, in pieces of that size with a gap between them."""
        for start in range(0, len(data), piece or len(data)):
            self._write(data[start : start + piece] if piece else data)
            time.sleep(gap_s)

    def _write(self, data: bytes) -> None:
        end = time.monotonic() + WRITE_S
        while data:
            left_s = end - time.monotonic()
            try:
                sent = self._end.send(data, left_s) if left_s > 0 else 0
            except OSError as error:
                raise self._cut(error.strerror or str(error)) from error
            if not sent:
                raise self._cut("it takes no bytes")
            data = data[sent:]

    def _open(self) -> _End:
        try:
            if self.address.rfc2217:
                self.byte_s = BITS_A_BYTE / self.address.baud
                return Rfc2217End(str(self.address.host), self.address.port or 0, self.address.baud)
            if self.address.path is None:
                where = (self.address.host, self.address.port)
                return _DescriptorEnd(_unblocked(socket.create_connection(where, CONNECT_S)))
            if stat.S_ISSOCK(Path(self.address.path).stat().st_mode):
                return _DescriptorEnd(_unblocked(_unix_socket(self.address.path)))
        except OSError as error:
            remedy = "check that the terminal server or QEMU listens there"
            if self.address.path is not None:
                remedy = "list them with: ls /dev/ttyUSB* /dev/ttyACM* /dev/serial/by-id"
            raise TargetError(f"{self.address}: {error.strerror or error}", remedy) from error
        self.byte_s = BITS_A_BYTE / self.address.baud
        return _DescriptorEnd(_Tty(self.address.path, self.address.baud))

    def _cut(self, reason: str | None) -> TargetError:
        return TargetError(
            f"{self.address}: the line was lost: {reason}",
            "check that the board is on and the line plugged in, then repeat the command",
        )


class _End(Protocol):
    """This machine's end of a line."""

    def receive(self, timeout_s: float) -> bytes | None:
        """Return data; empty if the other end closed the line, None after ``timeout_s``."""

    def send(self, data: bytes, timeout_s: float) -> int:
        """Return how many bytes the line accepted; 0 after ``timeout_s``."""

    def close(self) -> None:
        """Close the line."""


class _DescriptorEnd:
    """An end with a descriptor that does not block: a tty or a socket."""

    def __init__(self, of: _Tty | socket.socket) -> None:
        self._of = of

    def receive(self, timeout_s: float) -> bytes | None:
        if self._ready(select.POLLIN, timeout_s):
            with contextlib.suppress(BlockingIOError):
                return os.read(self._of.fileno(), 65536)
        return None

    def send(self, data: bytes, timeout_s: float) -> int:
        end = time.monotonic() + timeout_s
        while self._ready(select.POLLOUT, end - time.monotonic()):
            with contextlib.suppress(BlockingIOError):
                return os.write(self._of.fileno(), data)
        return 0

    def close(self) -> None:
        self._of.close()

    def _ready(self, event: int, timeout_s: float) -> bool:
        poll = select.poll()
        poll.register(self._of.fileno(), event)
        return bool(poll.poll(max(0.0, timeout_s) * 1000))


class _Tty:
    """A tty in raw mode, opened exclusively."""

    def __init__(self, path: str, baud: int) -> None:
        serial = pyserial("ttys need")
        try:
            self._serial = serial.Serial(path, baud, timeout=0, exclusive=True)
        except (serial.SerialException, ValueError) as error:
            busy = "lock" in str(error)
            remedy = "close the program that uses it: fuser -v " + path
            if not busy:
                remedy = (
                    "it must be a tty that you may open: run as root, or join the group dialout"
                )
            raise TargetError(f"serial://{path}: {error}", remedy) from error

    def fileno(self) -> int:
        return int(self._serial.fileno())

    def close(self) -> None:
        self._serial.close()


def _unix_socket(path: str) -> socket.socket:
    end = socket.socket(socket.AF_UNIX)
    try:
        end.settimeout(CONNECT_S)
        end.connect(path)
    except OSError:
        end.close()
        raise
    return end


def _unblocked(end: socket.socket) -> socket.socket:
    end.setblocking(False)
    with contextlib.suppress(OSError):  # no TCP
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return end
