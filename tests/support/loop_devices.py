"""Loop devices on images that tests have made."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from machine_lock import nobody_records


@contextmanager
def attached(image: Path | str, *options: str) -> Iterator[str]:
    """Yield the name of a loop device on ``image``, without a scheduler.

    No foreread records while it is attached: it would restore the knobs of the device's last image.
    """
    command = ["losetup", "--find", "--show", *options, str(image)]
    with nobody_records():
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        name = Path(done.stdout.strip()).name
        scheduler = Path("/sys/block", name, "queue/scheduler")
        if "none" in scheduler.read_text():
            scheduler.write_text("none")  # its last image's outlives that
    try:
        yield name
    finally:
        subprocess.run(["losetup", "--detach", f"/dev/{name}"], check=True)
