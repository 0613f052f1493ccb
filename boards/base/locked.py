"""A lock on a folder, for writers that read a file in it, change it and put it back."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Keep other forereads that lock the folder waiting during the block.

    The kernel releases the lock when the process ends, for any reason.
    """
    with opened_folder(folder) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


@contextmanager
def opened_folder(folder: Path) -> Iterator[int]:
    """Yield a descriptor of the folder, to lock it or to write its entries to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
