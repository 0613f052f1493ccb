"""Layouts of an image: predicted from one capture of each start, and measured on emulated boards.

    python -m studies.layout.run [-o DIR] [--only IMAGE]... [--predict]

Each image is kept in DIR as it is measured, and not measured again. --predict measures nothing: it
predicts anew from the captures of DIR, and prints the tables.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from foreread import load
from foreread.analyzer.layout.order import order_of, start_of
from foreread.analyzer.layout.write import write_layout
from foreread.boards.emulated.parts import Parts
from foreread.emulator.images.compressors import COMPRESSORS
from foreread.images.unpacking import measure_unpacking
from studies.accuracy.cli import Foreread
from studies.accuracy.store import Document
from studies.layout import predict
from studies.layout.campaign import Campaign
from studies.layout.images import KERNEL, PACKAGES, Image, images
from studies.layout.starts import STARTS, board, measured, record


def prepare(folder: Path) -> None:
    """Make the root, record the starts, measure the time to unpack, and write the order."""
    image, root = folder / "base.squashfs", folder / "root"
    if not image.exists():
        parts = Parts("x86_64", KERNEL, PACKAGES, tell=print)
        shutil.copyfile(parts.live_image("squashfs", "busybox", 32), image)
    if not root.exists():
        words = ["unsquashfs", "-quiet", "-no-progress", "-d", str(root), str(image)]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    captures = {start: folder / f"capture-{start.name}" for start in STARTS}
    if not all((capture / "capture.json").exists() for capture in captures.values()):
        foreread = Foreread()
        with board(image) as started:
            for start, capture in captures.items():
                record(started.name, start, capture, foreread)
    unpacking = folder / "unpacking.json"
    if not unpacking.exists():
        with board(image) as started:
            recording = load(captures[STARTS[2]])
            result = measure_unpacking(started.name, image, recording, COMPRESSORS)
        unpacking.write_text(result.document.to_json() + "\n")
    starts = [start_of(load(capture)) for capture in captures.values()]
    write_layout(order_of(starts), folder / "layout", starts=len(starts))


def measure(_: Image, image: Path, folder: Path) -> Document:
    """Measure the starts on an image."""
    return measured(image, STARTS, folder)


CAMPAIGN = Campaign(
    doc=__doc__ or "",
    output="layout-out",
    images=images(),
    prepare=prepare,
    measure=measure,
    predict=predict.predicted,
)

if __name__ == "__main__":
    sys.exit(CAMPAIGN.main())
