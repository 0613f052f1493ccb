"""Bytes to and from a console: over a tty, TCP (a terminal server, QEMU) or a socket file."""

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

from boards.target import TargetError

DEFAULT_BAUD = 115200
LARGEST_PORT = 65535
CONNECT_S = 10.0
WRITE_S = 30.0
# Ten bits on the line for a byte: one to start, one to stop.
BITS_A_BYTE = 10

_HOST = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
_TCP = re.compile(rf"serial://(?:(?P<host>{_HOST})|\[(?P<v6>[0-9a-fA-F:.]+)\]):(?P<port>\d{{1,5}})")
_PATH = re.compile(r"serial://(?P<path>/[A-Za-z0-9_./:@+,=-]+)(?:\?baud=(?P<baud>[1-9]\d{1,7}))?")


@dataclass(frozen=True)
class SerialAddress:
    """Where a console is: a tty or a socket file at ``path``, or TCP at ``host`` and ``port``."""

    path: str | None = None
    baud: int = DEFAULT_BAUD
    host: str | None = None
    port: int | None = None

    @classmethod
    def parse(cls, url: str) -> SerialAddress:
        """Return the address in the URL; raises TargetError."""
        if file := _PATH.fullmatch(url):
            return cls(path=file["path"], baud=int(file["baud"] or DEFAULT_BAUD))
        tcp = _TCP.fullmatch(url)
        if tcp is None or not 0 < int(tcp["port"]) <= LARGEST_PORT:
            raise TargetError(
                f"{url!r} is not a serial target",
                "use serial:///dev/ttyUSB0?baud=115200, or serial://HOST:PORT for a console"
                " behind TCP",
            )
        return cls(host=tcp["v6"] or tcp["host"], port=int(tcp["port"]))

    def __str__(self) -> str:
        if self.path is not None:
            speed = "" if self.baud == DEFAULT_BAUD else f"?baud={self.baud}"
            return f"serial://{self.path}{speed}"
        host = f"[{self.host}]" if ":" in (self.host or "") else self.host
        return f"serial://{host}:{self.port}"


class SerialLine:
    """An open line to a console; raises TargetError when it is cut."""

    def __init__(self, address: SerialAddress) -> None:
        self.address = address
        # Bits that a tty needs for a byte; the speed of a line behind TCP is unknown.
        self.byte_s = 0.0
        self._end = self._open()

    def close(self) -> None:
        """Let go of the line."""
        self._end.close()

    def read(self, timeout_s: float) -> bytes:
        """Wait for data and return them; empty after ``timeout_s``."""
        if not self._ready(reading=True, timeout_s=timeout_s):
            return b""
        try:
            data = os.read(self._end.fileno(), 65536)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise self._cut(error.strerror) from error
        if not data:
            raise self._cut("it was closed at the other end")
        return data

    def write(self, data: bytes, piece: int = 0, gap_s: float = 0.0) -> None:
        """Send all of ``data``; in pieces with a gap between them if ``piece`` is given."""
        for start in range(0, len(data), piece or len(data)):
            self._write(data[start : start + piece] if piece else data)
            time.sleep(gap_s)

    def _write(self, data: bytes) -> None:
        end = time.monotonic() + WRITE_S
        while data:
            if not self._ready(reading=False, timeout_s=end - time.monotonic()):
                raise self._cut("it takes no bytes")
            try:
                data = data[os.write(self._end.fileno(), data) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise self._cut(error.strerror) from error

    def _ready(self, reading: bool, timeout_s: float) -> bool:
        poll = select.poll()
        poll.register(self._end.fileno(), select.POLLIN if reading else select.POLLOUT)
        return bool(poll.poll(max(0.0, timeout_s) * 1000))

    def _open(self) -> _Tty | socket.socket:
        try:
            if self.address.path is None:
                where = (self.address.host, self.address.port)
                return _unblocked(socket.create_connection(where, CONNECT_S))
            if stat.S_ISSOCK(Path(self.address.path).stat().st_mode):
                return _unblocked(_unix_socket(self.address.path))
        except OSError as error:
            remedy = "check that the terminal server or QEMU listens there"
            if self.address.path is not None:
                remedy = "list them with: ls /dev/ttyUSB* /dev/ttyACM* /dev/serial/by-id"
            raise TargetError(f"{self.address}: {error.strerror or error}", remedy) from error
        self.byte_s = BITS_A_BYTE / self.address.baud
        return _Tty(self.address.path, self.address.baud)

    def _cut(self, reason: str | None) -> TargetError:
        return TargetError(
            f"{self.address}: the line was lost: {reason}",
            "check that the board is on and the line plugged in, then repeat the command",
        )


class _Tty:
    """A tty in raw mode, opened exclusively."""

    def __init__(self, path: str, baud: int) -> None:
        try:
            import serial  # noqa: PLC0415  (an optional package, for this only)
        except ImportError as error:
            raise TargetError(
                "ttys need the Python package pyserial", "pip install 'foreread[serial]'"
            ) from error
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
