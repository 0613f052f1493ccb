"""The connection to a console that a server offers by RFC 2217: ser2net, labgrid's exporter."""

from __future__ import annotations

import time
from types import ModuleType
from typing import Any

from foreread.boards.target import TargetError

PIECE_BYTES = 4096  # pyserial's queue has an entry for each byte
WAIT_S = 0.05  # constant: a changed timeout would send all settings of the port again


def pyserial(who: str) -> ModuleType:
    """Return the package, which is optional; ``who`` begins the message without it."""
    try:
        import serial  # noqa: PLC0415  (an optional package)
    except ImportError as error:
        raise TargetError(
            f"{who} the Python package pyserial", "pip install 'foreread[serial]'"
        ) from error
    return serial  # type: ignore[no-any-return,unused-ignore]


class Rfc2217End:
    """A connection to a server that has set the speed; raises OSError if it cannot be made."""

    def __init__(self, host: str, port: int, baud: int) -> None:
        serial = pyserial("consoles reached by RFC 2217 need")
        place = f"[{host}]" if ":" in host else host
        # ser2net does not answer some settings of control lines; no console needs them.
        url = f"rfc2217://{place}:{port}?ign_set_control"
        try:  # pyserial's own errors are OSErrors
            self._line: Any = serial.serial_for_url(url, baud, timeout=WAIT_S)
        except ValueError as error:
            raise OSError(str(error)) from error

    def receive(self, timeout_s: float) -> bytes | None:
        """Return the received data; None after ``timeout_s``. Raises OSError if cut."""
        end = time.monotonic() + timeout_s
        while not (first := bytes(self._line.read(1))):
            if time.monotonic() >= end:
                return None
        return first + bytes(self._line.read(min(self._line.in_waiting, PIECE_BYTES)))

    def send(self, data: bytes, timeout_s: float) -> int:
        """Send a piece of the data; the connection has its own timeout."""
        return int(self._line.write(data[:PIECE_BYTES]))

    def close(self) -> None:
        """End the connection."""
        self._line.close()
