"""Locks of fcntl(2), as other processes find them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_LOCK = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+b'), fcntl.LOCK_EX | fcntl.LOCK_NB)"


def is_locked(path: Path) -> bool:
    """Return whether another process is refused a lock on the file."""
    made = subprocess.run(
        [sys.executable, "-c", _LOCK, str(path)], capture_output=True, text=True, check=False
    )
    assert made.returncode == 0 or "BlockingIOError" in made.stderr, made.stderr
    return made.returncode != 0
