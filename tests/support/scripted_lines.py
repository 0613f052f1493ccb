"""A line to a console on which no time passes: what is said on it, and after how long."""

from __future__ import annotations


class ScriptedLine:
    """Gives (seconds after what came before, data) in turn; ``reply`` to all that is written."""

    byte_s = 0.0

    def __init__(self, *said: tuple[float, bytes], reply: bytes = b"") -> None:
        self.said = list(said)
        self.written = b""
        self._reply = reply

    def read(self, timeout_s: float) -> bytes:
        """Return what comes within a time, at once."""
        if not self.said:
            return b""
        after_s, data = self.said.pop(0)
        if after_s < timeout_s:
            return data
        self.said.insert(0, (after_s - timeout_s, data))
        return b""

    def write(self, data: bytes, *_: float) -> None:
        """Take data."""
        self.written += data
        if self._reply:
            self.said.append((0.0, self._reply))
