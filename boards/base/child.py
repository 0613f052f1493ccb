"""A program that runs to its end; interrupted, it does not outlive the call."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from typing import IO

from foreread.boards.base.interrupts import uninterrupted


def completed(
    words: Sequence[str],
    stdin: bytes | IO[bytes] | int,
    stdout: IO[bytes] | int | None = None,
    stderr: IO[bytes] | int | None = None,
    timeout_s: float | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run ``words`` to the end; raises OSError and subprocess.TimeoutExpired.

    ``stdout`` and ``stderr`` are kept in the result where they are None. Unlike that of
    subprocess.run the child is known from its first moment on: a signal whose handler raises an
    exception while the child starts would leave it running.
    """
    data, source = (stdin, subprocess.PIPE) if isinstance(stdin, bytes) else (None, stdin)
    child = None
    try:
        with uninterrupted():
            child = subprocess.Popen(
                words,
                stdin=source,
                stdout=subprocess.PIPE if stdout is None else stdout,
                stderr=subprocess.PIPE if stderr is None else stderr,
                env=environment,
            )
        out, errors = child.communicate(data, timeout_s)
    finally:
        if child is not None:
            child.kill()  # no effect on an ended one
            with child:
                pass
    return subprocess.CompletedProcess(list(words), child.returncode, out or b"", errors or b"")
