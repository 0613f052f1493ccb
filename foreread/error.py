"""What foreread raises: the base exception of each package.

Every one of them says in ``remedy`` what to do. The packages do not share a base, because neither
the emulator nor the boards import anything of the others: catch ``ERRORS`` to catch them all.
"""

from __future__ import annotations

from analyzer.error import AnalyzerError
from boards.error import BoardsError
from emulator.error import EmulatorError
from tracer.error import TracerError


class ForereadError(Exception):
    """What the library itself refuses; ``remedy`` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class ArgumentError(ForereadError, ValueError):
    """Arguments of a call that make no sense, by themselves or together."""


ERRORS = (ForereadError, AnalyzerError, TracerError, BoardsError, EmulatorError)
