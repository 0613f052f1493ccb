"""The base of this package's exceptions."""

from __future__ import annotations


class BoardsError(Exception):
    """A board or a target that cannot be used; ``remedy`` says what to do.

    Each error also derives from the built-in exception that describes it, such as ValueError.
    """

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy
