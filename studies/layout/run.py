"""Layouts of an image: predicted from one capture of each start, and measured on emulated boards.

    python -m studies.layout.run [-o DIR] [--only IMAGE]... [--predict]

Each image is kept in DIR as it is measured, and not measured again. --predict measures nothing: it
predicts anew from the captures of DIR, and prints the tables.
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
from emulator.images.compressors import COMPRESSORS
from foreread import load
from foreread.unpacking import measure_unpacking
from studies.accuracy.cli import Foreread
from studies.layout import predict, tables
from studies.layout.images import KERNEL, PACKAGES, Image, images
from studies.layout.starts import STARTS, board, measured, record


def main() -> int:
    """Measure the images asked for, predict them, and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("layout-out"), metavar="DIR")
    parser.add_argument("--only", action="append", default=[], metavar="IMAGE")
    parser.add_argument("--predict", action="store_true", help="measure nothing")
    args = parser.parse_args()
    folder = args.output.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [one for one in images() if not args.only or one.name in args.only]
    if not args.predict:
        prepare(folder)
        measure_all([one for one in wanted if not _file(one, folder).exists()], folder)
    found = [one for one in wanted if _file(one, folder).exists()]
    predicted = predict.predicted(found, folder)
    (folder / "layout.json").write_text(json.dumps(predicted, indent=1) + "\n")
    report = tables.text(predicted)
    (folder / "layout.md").write_text(report)
    print(report)
    return 0


def prepare(folder: Path) -> None:
    """Make the root, record the starts, measure the time to unpack, and write the order."""
    image, root = folder / "base.squashfs", folder / "root"
    if not image.exists():
        parts = Parts("x86_64", KERNEL, PACKAGES, tell=print)
        shutil.copyfile(parts.live_image("squashfs", "busybox", 32), image)
    if not root.exists():
        words = ["unsquashfs", "-quiet", "-no-progress", "-d", str(root), str(image)]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    captures = {one: folder / f"capture-{one.name}" for one in STARTS}
    if not all((capture / "capture.json").exists() for capture in captures.values()):
        foreread = Foreread()
        with board(image) as started:
            for one, capture in captures.items():
                record(started.name, one, capture, foreread)
    unpacking = folder / "unpacking.json"
    if not unpacking.exists():
        with board(image) as started:
            recording = load(captures[STARTS[2]])
            found = measure_unpacking(started.name, image, recording, COMPRESSORS)
        unpacking.write_text(found.document.to_json() + "\n")
    starts = [start_of(load(capture)) for capture in captures.values()]
    write_layout(order_of(starts), folder, starts=len(starts))


def measure_all(wanted: Sequence[Image], folder: Path) -> None:
    """Build images, and measure the starts on each."""
    (folder / "measured").mkdir(exist_ok=True)
    for one in wanted:
        image = folder / f"{one.name}.image"
        if not image.exists():
            one.build(folder / "root", folder / "squashfs.sort", image)
        found = measured(image, STARTS, folder)
        _file(one, folder).write_text(json.dumps(found, indent=1) + "\n")
        image.unlink()


def _file(one: Image, folder: Path) -> Path:
    return folder / "measured" / f"{one.name}.json"


if __name__ == "__main__":
    sys.exit(main())
