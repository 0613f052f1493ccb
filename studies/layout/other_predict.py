"""The predicted and the measured starts from images of EROFS and ext4."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from foreread import load
from foreread.analyzer.layout.images_compared import ErofsLayout, ImageStarts
from foreread.analyzer.layout.opened_image import opened
from foreread.analyzer.layout.unpacking_file import read_unpacking
from foreread.emulator.devices.device import FixedCost
from studies.accuracy.on_boards import SD
from studies.accuracy.store import Document
from studies.layout.campaign import measured_file
from studies.layout.other_images import OtherImage

DEVICE = FixedCost(SD.latency_us * 1e3, SD.ns_per_kib)


def predicted(
    every: Sequence[OtherImage], folder: Path, base: Path, captures: dict[str, Path]
) -> list[Document]:
    """Return a row for each image and start: predicted and measured numbers."""
    unpacking = read_unpacking(folder / "unpacking.json").by_compressor
    recordings = [load(capture) for capture in captures.values()]
    with opened(base) as octets:
        weights = [1.0] * len(recordings)
        starts = ImageStarts(recordings, octets, weights, None, unpacking, DEVICE)
    rows = []
    for image in every:
        measured = json.loads(measured_file(image, folder).read_text())
        with opened(folder / f"{image.name}.image") as octets:
            row = starts.row(octets, ErofsLayout(image.kind, 0, image.ordered))
        for name, reads in zip(captures, row.starts, strict=True):
            rows.append(
                {
                    "image": image.name,
                    "pair": image.kind,
                    "ordered": image.ordered,
                    "start": name,
                    "predicted": {
                        "seconds": reads.seconds,
                        "requests": reads.requests,
                        "bytes": reads.read_bytes,
                    },
                    "measured": _measured(measured["runs"][name]),
                }
            )
    return rows


def _measured(run: Document) -> Document:
    return {
        "seconds": run["seconds"],
        "requests": run["requests"],
        "bytes": run["read_bytes"],
    }
