"""EROFS and ext4: layouts predicted from captures on uncompressed EROFS, and measured on a board.

    python -m studies.layout.other_run [-o DIR] [--only IMAGE]... [--predict]

Each image is kept in DIR with what was measured. --predict measures nothing.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from analyzer.layout.order import order_of, start_of
from analyzer.layout.write import write_layout
from boards.emulated.parts import Parts
from boards.scratch import scratch_folder
from foreread import load
from foreread.other_layouts import EROFS_COMPRESSORS, measure_unpacking
from studies.accuracy.cli import Foreread
from studies.accuracy.on_boards import MADPLAY, PERL, PYTHON, RUBY, VIM
from studies.layout import other_predict, tables
from studies.layout.images import KERNEL
from studies.layout.other_images import OtherImage, other_images
from studies.layout.starts import board, measured, record

STARTS = (MADPLAY, PERL, PYTHON, VIM, RUBY)
HELD_OUT = RUBY.name  # no model was looked at with it
PACKAGES = ("madplay", "perl", "python3", "vim", "ruby")
BASE = "erofs-uncompressed"


def main() -> int:
    """Measure the images asked for, predict them, and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("other-layout-out"), metavar="DIR"
    )
    parser.add_argument("--only", action="append", default=[], metavar="IMAGE")
    parser.add_argument("--predict", action="store_true", help="measure nothing")
    args = parser.parse_args()
    folder = args.output.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [one for one in other_images() if not args.only or one.name in args.only]
    if not args.predict:
        prepare(folder)
        measure_all([one for one in wanted if not measured_file(one, folder).exists()], folder)
    found = [one for one in wanted if measured_file(one, folder).exists()]
    captures = {one.name: capture_of(folder, one.name) for one in STARTS}
    rows = other_predict.predicted(found, folder, folder / f"base.{BASE}", captures)
    (folder / "layout.json").write_text(json.dumps(rows, indent=1) + "\n")
    report = tables.text(rows)
    (folder / "layout.md").write_text(report)
    print(report)
    return 0


def prepare(folder: Path) -> None:
    """Make the root, record the starts on it, and write the order."""
    base, root = folder / f"base.{BASE}", folder / "root"
    if not base.exists():
        parts = Parts("x86_64", KERNEL, PACKAGES, tell=print)
        shutil.copyfile(parts.live_image(BASE, "busybox", 32), base)
    if not root.exists():
        words = ["fsck.erofs", f"--extract={root}", str(base)]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    captures = {one: capture_of(folder, one.name) for one in STARTS}
    if not all((capture / "capture.json").exists() for capture in captures.values()):
        foreread = Foreread()
        with board(base, BASE, PACKAGES) as started:
            for one, capture in captures.items():
                record(started.name, one, capture, foreread)
    starts = [start_of(load(capture)) for capture in captures.values()]
    write_layout(order_of(starts), folder / "layout", starts=len(starts))
    unpacking = folder / "unpacking.json"
    if not unpacking.exists():
        # The held-out start has no part in it.
        order = order_of(starts[:-1])
        with board(base, BASE, PACKAGES) as started, scratch_folder("sample") as name:
            place = Path(name)
            found = measure_unpacking(started.name, EROFS_COMPRESSORS, root, order, place)
        unpacking.write_text(found.document.to_json() + "\n")


def capture_of(folder: Path, start: str) -> Path:
    """Return the capture of a start."""
    return folder / f"capture-{BASE}-{start}"


def measured_file(one: OtherImage, folder: Path) -> Path:
    """Return the file with what was measured of an image."""
    return folder / "measured" / f"{one.name}.json"


def measure_all(wanted: Sequence[OtherImage], folder: Path) -> None:
    """Build images, and measure the starts on each."""
    (folder / "measured").mkdir(exist_ok=True)
    for one in wanted:
        image = folder / f"{one.name}.image"
        if not image.exists():
            one.build(folder / "root", folder / "layout", image)
        found = measured(image, STARTS, folder, one.root, PACKAGES)
        measured_file(one, folder).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
