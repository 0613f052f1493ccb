"""The reads that this process sends to a disk of this machine, traced."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tracer.local.journal_folder import DIRECTORY

BIO = re.compile(r"-(\d+) .* block_bio_queue: \d+,\d+ (\w+) (\d+) \+ (\d+)")


@contextmanager
def nobody_records() -> Iterator[None]:
    """Keep forereads of other tests out: a recording changes the windows of all disks."""
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    with (DIRECTORY / "lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def bios_of(device: str, tracefs: Path) -> Iterator[Callable[[], list[tuple[int, int]]]]:
    """Yield a function that returns this process's reads of a disk so far: (sector, sectors)."""
    instance = tracefs / "instances" / f"images-{os.getpid()}"
    instance.mkdir()
    major, minor = Path(f"/sys/block/{device}/dev").read_text().split(":")
    event = instance / "events/block/block_bio_queue"
    try:
        (event / "filter").write_text(f"dev == {int(major) << 20 | int(minor)}")
        (event / "enable").write_text("1")
        yield lambda: [
            (int(sector), int(sectors))
            for pid, kind, sector, sectors in BIO.findall((instance / "trace").read_text())
            if int(pid) == os.getpid() and kind.startswith("R")
        ]
    finally:
        (event / "enable").write_text("0")
        instance.rmdir()
