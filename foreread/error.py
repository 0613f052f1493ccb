"""The base exception of each package.

Each error has a ``remedy``. The packages do not share a base class, because the emulator and the
boards import no other package: catch ``ERRORS`` to catch all of them.
"""

from __future__ import annotations

from foreread.analyzer.error import AnalyzerError
from foreread.boards.error import BoardsError
from foreread.emulator.error import EmulatorError
from foreread.tracer.error import TracerError


class ForereadError(Exception):
    """An error of the library itself; ``remedy`` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class ArgumentError(ForereadError, ValueError):
    """Arguments of a call that make no sense, by themselves or together."""


class ArgumentTypeError(ForereadError, TypeError):
    """An argument of another type than the function takes, or one that it does not have."""


class FileError(ForereadError, OSError):
    """A file that the operating system refuses; ``errno`` and ``filename`` as in OSError."""

    def __init__(self, error: OSError) -> None:
        name = f"{error.filename}: " if error.filename is not None else ""
        remedy = "give the path of a file that exists and can be read"
        if isinstance(error, PermissionError):
            remedy = "change its permissions, or run as root"
        super().__init__(f"{name}{error.strerror or error}", remedy)
        self.errno, self.strerror, self.filename = error.errno, error.strerror, error.filename

    def __str__(self) -> str:
        return str(self.args[0])


ERRORS = (ForereadError, AnalyzerError, TracerError, BoardsError, EmulatorError)
