"""Readers of another format, as a user may give one to ``fleet_analyse(reader=…)``.

Each reads captures of foreread, and does something else for files whose names say so. They run in
the process that analyses a batch.
"""

from __future__ import annotations

import ctypes
import os
import signal
from pathlib import Path

from waiting import wait_until

import foreread


def crashing(path: Path) -> foreread.Recording:
    """Read a null pointer: a segmentation fault, as in a decoder written in C."""
    if path.name.startswith("crash"):
        ctypes.string_at(0)
    if path.name.startswith("abort"):
        os.abort()
    if path.name.startswith("exit"):
        os._exit(7)
    return foreread.load(path)


def hanging(path: Path) -> foreread.Recording:
    """Never end."""
    if path.name.startswith("hang"):
        signal.pause()
    return foreread.load(path)


def printing(path: Path) -> foreread.Recording:
    """Print what could be taken for an answer."""
    print('{"board": "../../x", "start": "y", "rows": []}', flush=True)
    raise KeyError("a bug of the reader")


def waiting(path: Path) -> foreread.Recording:
    """Say in a file that a capture is begun, and wait until another file is there."""
    Path(os.environ["FLEET_BEGUN"]).touch()
    wait_until(Path(os.environ["FLEET_GO"]).exists)
    return foreread.load(path)
