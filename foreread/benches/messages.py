"""What a fleet's command and the process of a board (board_process.py) say to each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Opened:
    """The bench is open; ``found`` is what the command has to know of the board."""

    found: Any


@dataclass(frozen=True)
class Made:
    """What was due has been made; ``lost``: the board was lost in it, and is waited for."""

    made: Any
    lost: bool = False


@dataclass(frozen=True)
class Back:
    """A board that was lost is there again."""


@dataclass(frozen=True)
class Told:
    """A step, in words."""

    text: str


@dataclass(frozen=True)
class Ran:
    """One of the runs that are due."""

    run: Any


@dataclass(frozen=True)
class Out:
    """The board makes no more runs."""

    why: str
    remedy: str


Message = Opened | Made | Back | Told | Ran | Out


@dataclass(frozen=True)
class Link:
    """The ends of a board's process that lead to its command.

    ``receive`` waits for what is due next; EOFError at the end.
    """

    receive: Callable[[], Any]
    send: Callable[[Message], None]

    def tell(self, text: str) -> None:
        """Send a step, in words."""
        self.send(Told(text))


class Task(Protocol):
    """What a board is for."""

    @property
    def target(self) -> str:
        """The board, as it was named."""
        ...

    def serve(self, link: Link) -> None:
        """Open the board's bench, send Opened, and make what is due until the end."""
        ...
