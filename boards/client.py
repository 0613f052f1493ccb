"""A client program that runs one command on a target: ssh, adb."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from typing import IO

from foreread.boards.base.child import completed
from foreread.boards.target import Result


def run_client(
    words: Sequence[str],
    stdin: bytes | IO[bytes],
    stdout: IO[bytes] | None,
    timeout_s: float | None,
    environment: Mapping[str, str] | None = None,
) -> Result:
    """Run the client to its end; raises TimeoutError, and leaves no client running.

    ``environment`` is the client's. With the mark of its owner (boards.base.owner.marked), a guard
    ends the client when foreread is killed; without the mark, a client of a silent board lives on.
    A client that starts a daemon for other programs, as adb does, must not have the mark.
    """
    try:
        client = completed(words, stdin, stdout, timeout_s=timeout_s, environment=environment)
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    return Result(client.returncode, client.stdout, client.stderr)


def through_stdin(
    line: str, stdin: bytes | IO[bytes], longest: int
) -> tuple[str, bytes | IO[bytes]]:
    """Return an equivalent line and stdin, with no line longer than ``longest``.

    A file as stdin stays unchanged, and so does its line.
    """
    words = line.encode(errors="surrogateescape")
    if len(words) <= longest or not isinstance(stdin, bytes):
        return line, stdin
    # dd reads exactly the line from stdin, and leaves the rest to the line's command.
    return f'eval "$(dd bs=1 count={len(words)} 2>/dev/null)"', words + stdin
