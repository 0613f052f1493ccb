"""The starts of the study: recorded on a board, and measured cold on the same one."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from foreread.boards.emulated import live
from foreread.boards.emulated.live import LiveBoard, LiveOptions
from studies.accuracy.cli import Foreread
from studies.accuracy.on_boards import MADPLAY, PERL, PYTHON, SD, VIM, Application
from studies.accuracy.run import version
from studies.accuracy.store import Document
from studies.layout.images import KERNEL, PACKAGES

STARTS = (MADPLAY, PERL, PYTHON, VIM)
WINDOW_KIB = 128


@contextmanager
def board(
    image: Path, fs: str = "squashfs", packages: Sequence[str] = PACKAGES
) -> Iterator[LiveBoard]:
    """Boot a board that has an image as its root."""
    options = LiveOptions(
        board="x86_64",
        kernel=KERNEL,
        packages=tuple(packages),
        fs=fs,
        image=str(image.absolute()),
        latency_ns=SD.latency_us * 1000,
        ns_per_kib=SD.ns_per_kib,
        modules=("loop", "erofs"),
        read_only=fs == "ext4",  # python stores compiled modules where it can
        time_out_s=600,
    )
    started = live.start(options, f"layout-{os.getpid()}")
    try:
        yield started
    finally:
        started.stop()


def record(name: str, application: Application, capture: Path, foreread: Foreread) -> None:
    """Record a start on a board."""
    words = ("record", "--target", name, "--wait", 300, "--allow-warm", "-o", capture)
    foreread(*words, "--", *application.command)


def measured(
    image: Path,
    starts: Sequence[Application],
    folder: Path,
    fs: str = "squashfs",
    packages: Sequence[str] = PACKAGES,
) -> Document:
    """Return a cold run of each start on a board that has an image as its root.

    So the same of the root is in memory before a start as when it was recorded: pages of libraries
    that the board's ssh server maps.
    """
    print(f"{datetime.now():%H:%M} {image.stem}", file=sys.stderr, flush=True)
    with board(image, fs, packages) as started:
        runs = {start.name: _cold_run(started.name, start, folder) for start in starts}
    return {
        "image_bytes": image.stat().st_size,
        "runs": runs,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "foreread": version(),
    }


def _cold_run(target: str, start: Application, folder: Path) -> Document:
    """Return a cold run of a start at 128 KiB; ``read_bytes`` counts data and metadata."""
    sweep = folder / "sweep.json"
    sweep.unlink(missing_ok=True)
    words = ("sweep", "--target", target, "--wait", 300, "--allow-warm", "--windows", WINDOW_KIB)
    Foreread()(*words, "--repeat", 1, "-o", sweep, "--", *start.command)
    measured = json.loads(sweep.read_text())
    (point,) = measured["points"]
    return {
        "seconds": point["seconds"][0],
        "requests": point["requests"][0],
        "read_bytes": round(point["pages"][0] * measured["page_size"]),
    }
