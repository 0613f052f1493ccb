"""A client program that runs one command on a target: ssh, adb."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from typing import IO

from boards.target import Result


def run_client(
    words: Sequence[str],
    stdin: bytes | IO[bytes],
    stdout: IO[bytes] | None,
    timeout_s: float | None,
    environment: Mapping[str, str] | None = None,
) -> Result:
    """Run the client to its end; raises TimeoutError, and leaves no client running.

    ``environment``: that of the client. With the mark of its owner (boards.base.owner.marked), a
    guard ends it when foreread is killed; without, a client whose board is silent lives on. A
    client that starts a daemon for others, as adb does, must not have it.
    """
    given, source = (stdin, subprocess.PIPE) if isinstance(stdin, bytes) else (None, stdin)
    client = subprocess.Popen(
        words,
        stdin=source,
        stdout=subprocess.PIPE if stdout is None else stdout,
        stderr=subprocess.PIPE,
        env=environment,
    )
    with client:
        try:
            out, errors = client.communicate(given, timeout_s)
        except subprocess.TimeoutExpired:
            raise TimeoutError from None
        finally:
            client.kill()  # on a time-out or an interrupt; an ended one does not notice
    return Result(client.returncode, out or b"", errors)


def through_stdin(
    line: str, stdin: bytes | IO[bytes], longest: int
) -> tuple[str, bytes | IO[bytes]]:
    """Return a line and stdin that do as the given ones, with no line longer than ``longest``.

    A file as stdin stays as it is, and so does its line.
    """
    words = line.encode(errors="surrogateescape")
    if len(words) <= longest or not isinstance(stdin, bytes):
        return line, stdin
    # dd takes from stdin exactly the line, and leaves the rest to it.
    return f'eval "$(dd bs=1 count={len(words)} 2>/dev/null)"', words + stdin
