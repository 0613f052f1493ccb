"""EROFS and ext4: layouts predicted from captures on uncompressed EROFS, and measured on a board.

    python -m studies.layout.other_run [-o DIR] [--only IMAGE]... [--predict]

Each image is kept in DIR with what was measured. --predict measures nothing.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from foreread import load
from foreread.analyzer.layout.order import order_of, start_of
from foreread.analyzer.layout.write import write_layout
from foreread.boards.base.scratch import scratch_folder
from foreread.boards.emulated.parts import Parts
from foreread.images.layouts import EROFS_COMPRESSORS, measure_sample
from studies.accuracy.cli import Foreread
from studies.accuracy.on_boards import MADPLAY, PERL, PYTHON, RUBY, VIM
from studies.accuracy.store import Document
from studies.layout import other_predict
from studies.layout.campaign import Campaign
from studies.layout.images import KERNEL
from studies.layout.other_images import OtherImage, other_images
from studies.layout.starts import board, measured, record

STARTS = (MADPLAY, PERL, PYTHON, VIM, RUBY)
HELD_OUT = RUBY.name  # no model was looked at with it
PACKAGES = ("madplay", "perl", "python3", "vim", "ruby")
BASE = "erofs-uncompressed"


def prepare(folder: Path) -> None:
    """Make the root, record the starts on it, and write the order."""
    base, root = folder / f"base.{BASE}", folder / "root"
    if not base.exists():
        parts = Parts("x86_64", KERNEL, PACKAGES, tell=print)
        shutil.copyfile(parts.live_image(BASE, "busybox", 32), base)
    if not root.exists():
        words = ["fsck.erofs", f"--extract={root}", str(base)]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    captures = {start: capture_of(folder, start.name) for start in STARTS}
    if not all((capture / "capture.json").exists() for capture in captures.values()):
        foreread = Foreread()
        with board(base, BASE, PACKAGES) as started:
            for start, capture in captures.items():
                record(started.name, start, capture, foreread)
    starts = [start_of(load(capture)) for capture in captures.values()]
    write_layout(order_of(starts), folder / "layout", starts=len(starts))
    unpacking = folder / "unpacking.json"
    if not unpacking.exists():
        # The held-out start has no part in it.
        order = order_of(starts[:-1])
        with board(base, BASE, PACKAGES) as started, scratch_folder("sample") as name:
            place = Path(name)
            result = measure_sample(started.name, EROFS_COMPRESSORS, root, order, place)
        unpacking.write_text(result.document.to_json() + "\n")


def capture_of(folder: Path, start: str) -> Path:
    """Return the capture of a start."""
    return folder / f"capture-{BASE}-{start}"


def predict(images: Sequence[OtherImage], folder: Path) -> list[Document]:
    """Return a row for each image and start: predicted and measured numbers."""
    captures = {start.name: capture_of(folder, start.name) for start in STARTS}
    return other_predict.predicted(images, folder, folder / f"base.{BASE}", captures)


def measure(definition: OtherImage, image: Path, folder: Path) -> Document:
    """Measure the starts on an image."""
    return measured(image, STARTS, folder, definition.root, PACKAGES)


CAMPAIGN = Campaign(
    doc=__doc__ or "",
    output="other-layout-out",
    images=other_images(),
    prepare=prepare,
    measure=measure,
    predict=predict,
    keeps_images=True,
)

if __name__ == "__main__":
    sys.exit(CAMPAIGN.main())
