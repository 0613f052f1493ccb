"""The messages between a fleet's command and the process of each board (process.py)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Opened:
    """The bench is open; ``board`` is the board's description."""

    board: Any


@dataclass(frozen=True)
class Completed:
    """The result of a due run; ``lost``: the board was lost in the run, and is waited for."""

    result: Any
    lost: bool = False


@dataclass(frozen=True)
class Back:
    """A lost board is back."""


@dataclass(frozen=True)
class StepText:
    """The present step, in words."""

    text: str


@dataclass(frozen=True)
class Ran:
    """One run of a due pair has ended."""

    run: Any


@dataclass(frozen=True)
class Out:
    """The board makes no more runs."""

    why: str
    remedy: str


Message = Opened | Completed | Back | StepText | Ran | Out


@dataclass(frozen=True)
class Link:
    """The ends of a board's process that lead to its command.

    ``receive`` waits for the next due run; EOFError at the end.
    """

    receive: Callable[[], Any]
    send: Callable[[Message], None]

    def tell(self, text: str) -> None:
        """Send the present step, in words."""
        self.send(StepText(text))


class BoardTask(Protocol):
    """The task of a board's process."""

    @property
    def target(self) -> str:
        """The board, as it was named."""
        ...

    def serve(self, link: Link) -> None:
        """Open the board's bench, send Opened, and make the due runs until the end."""
        ...
