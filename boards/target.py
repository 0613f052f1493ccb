"""What the tracer asks of a target: to read and to write its knobs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol


class Target(Protocol):
    """A machine whose knobs (files of /sys and /proc/sys) can be read and written.

    Both raise OSError: FileNotFoundError where there is no such knob, PermissionError without
    the rights, and whatever the kernel says to a value that it refuses.
    """

    def read_knob(self, path: str) -> str:
        """Return the knob's value without the newline at its end."""

    def write_knob(self, path: str, value: str) -> str:
        """Set the knob and return the value read back, which may be a rounded one."""


class LocalTarget:
    """This machine; ``root`` stands in for ``/`` in tests."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root

    def read_knob(self, path: str) -> str:
        """Return the knob's value without the newline at its end."""
        return self._file(path).read_text(errors="surrogateescape").rstrip("\n")

    def write_knob(self, path: str, value: str) -> str:
        """Set the knob and return the value read back."""
        # No O_CREAT: a knob that is gone must not become a file.
        knob = os.open(self._file(path), os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        try:
            os.write(knob, os.fsencode(value))
        finally:
            os.close(knob)
        return self.read_knob(path)

    def _file(self, path: str) -> Path:
        return self.root / path.lstrip("/")
