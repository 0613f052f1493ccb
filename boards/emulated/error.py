"""The exception of emulated boards."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from foreread.boards.error import BoardsError

_ERROR = re.compile(r"^E: |error|not found", re.IGNORECASE)


class BoardError(BoardsError, RuntimeError):
    """An emulated board that cannot be built or run; ``remedy`` says what to do."""


def require_tool(name: str, package: str) -> str:
    """Return the path of a program; raises BoardError with the package to install."""
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if path is None:
        raise BoardError(f"{name} is not installed", f"apt-get install {package}")
    return path


def call(
    words: Sequence[str | Path],
    remedy: str,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> str:
    """Run a program here and return its stdout; raises BoardError with its last output."""
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        check=False,
        env=env,
        cwd=cwd,
    )
    if done.returncode:
        output = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()
        # The last lines of make and apt are summaries; the first error is the cause.
        cause = next((line for line in output if _ERROR.search(line)), output[-1])
        raise BoardError(f"{Path(words[0]).name} failed ({done.returncode}): {cause}", remedy)
    return done.stdout
