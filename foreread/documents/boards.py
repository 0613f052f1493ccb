"""The documents of ``foreread boards``; ``show`` and ``new`` print a profile."""

from __future__ import annotations

from typing import Annotated, Any

from foreread.boards.base.document import Document, Encoded, says
from foreread.boards.emulated.guest_protocol import TimedRun
from foreread.boards.profile import Profile


class StartedBoard(Encoded, frozen=True, kw_only=True):
    """A started board, and how it is reached."""

    name: Annotated[str, says("what --target takes")]
    url: Annotated[str, says("ssh://USER@HOST:PORT")]
    known_hosts: Annotated[str, says("path of the file with its host key")]
    identity: Annotated[str, says("path of the private key")]
    console: Annotated[str, says("command that opens the console")]
    log: Annotated[str, says("path of the console's log")]
    options: Annotated[dict[str, Any], says("what it was started with")]


class BoardsDocument(Document, frozen=True, kw_only=True):
    """The known boards, and those that run."""

    boards: list[Profile]
    running: list[StartedBoard]


class BoardRunDocument(Document, frozen=True, kw_only=True):
    """A command's cold runs on an emulated board."""

    board: str
    kernel: Annotated[str | None, says("null: the board's own")]
    fs: Annotated[str, says("file system of the disk")]
    disk: Annotated[str, says("kind of the disk: boards/disks.toml")] = "fixed"
    latency_us: Annotated[float, says("of a fixed disk, for each request")]
    ns_per_kib: Annotated[float, says("of a fixed disk")]
    runs: list[TimedRun]
    stdout_base64: Annotated[str, says("output of the last run")]
    stderr_base64: Annotated[str, says("error output of the last run")]


class StoppedDocument(Document, frozen=True, kw_only=True):
    """The boards that were stopped."""

    stopped: Annotated[list[str], says("names")]
