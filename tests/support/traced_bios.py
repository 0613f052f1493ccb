"""The reads that this process sends to a disk of this machine, traced."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from loop_image import mounted
from machine_lock import nobody_records
from waiting import wait_until

from foreread.tracer.backends import tracefs_mount

BIO = re.compile(r"-(\d+) .* block_bio_queue: \d+,\d+ (\w+) (\d+) \+ (\d+)")
Calls = Sequence[tuple[str, Sequence[tuple[int, int]]]]  # path, and (position, bytes) of each read


def read_from(
    folder: Path, kib: int, calls: Calls, logical_block: int = 512
) -> tuple[list[tuple[int, int]], int]:
    """Make the calls, cold and at a window, on ``image`` of the folder, mounted there from a
    disk with this logical block (bytes).

    Return what its disk read (sector, sectors), and the largest request of that disk in KiB.
    """

    def read_undisturbed() -> tuple[list[tuple[int, int]], int] | None:
        with ExitStack() as stack:
            tracefs = stack.enter_context(tracefs_mount.mounted())
            # Before the mount: what makes runs cold reads files of each squashfs that is mounted.
            undisturbed = stack.enter_context(nobody_records())
            places = folder / "image", folder / "mounted"
            device = stack.enter_context(mounted(*places, logical_block))
            queue = Path(f"/sys/block/{device}/queue")
            (queue / "read_ahead_kb").write_text(str(kib))
            bios = stack.enter_context(_bios_of(device, tracefs))
            for path, parts in calls:
                descriptor = os.open(f"{folder}/mounted{path}", os.O_RDONLY)
                for at, length in parts:
                    os.pread(descriptor, length, at)
                os.close(descriptor)
            if undisturbed():
                return bios(), int((queue / "max_sectors_kb").read_text())
        return None

    return wait_until(read_undisturbed)


@contextmanager
def _bios_of(device: str, tracefs: Path) -> Iterator[Callable[[], list[tuple[int, int]]]]:
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
