"""What a start has besides settings: a list is replayed, a library preloaded, settings change."""

from __future__ import annotations

from dataclasses import dataclass

_ELF = b"\x7fELF"


@dataclass(frozen=True)
class Replayer:
    """The program, or the shell script, that reads a prefetch list, and its list."""

    program: bytes
    listing: bytes

    @property
    def kind(self) -> str:
        """How the target's shell starts it."""
        return "program" if self.program.startswith(_ELF) else "script"


@dataclass(frozen=True)
class Preload:
    """A shared library that the command preloads, and the list that it reads."""

    library: bytes
    listing: bytes


@dataclass(frozen=True)
class Later:
    """A setting that a trial has ``after_s`` from its start on, and ``before`` until then."""

    after_s: float
    knob: str
    value: str
    before: str

    @property
    def line(self) -> str:
        """The setting as a line for remote/beside.sh."""
        return f"{self.after_s:.3f}\t{self.knob}\t{self.value}\t{self.before}"
