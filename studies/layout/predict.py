"""The predicted and the measured starts of the study, for each image."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from foreread import load
from foreread.analyzer.layout.image_start import present_window
from foreread.analyzer.layout.on_image import on_image
from foreread.analyzer.layout.opened_image import opened
from foreread.analyzer.layout.order import order_of
from foreread.analyzer.layout.predicted import cases, counted
from foreread.analyzer.layout.seconds import timing
from foreread.analyzer.layout.unpacking_file import read_unpacking
from foreread.emulator.devices.device import FixedCost
from foreread.emulator.images.squashfs import read_squashfs
from studies.accuracy.on_boards import SD
from studies.accuracy.store import Document
from studies.layout.campaign import measured_file
from studies.layout.images import Image
from studies.layout.starts import STARTS

_COLUMNS = {"seconds": "seconds", "requests": "requests", "bytes": "read_bytes"}
DEVICE = FixedCost(SD.latency_us * 1e3, SD.ns_per_kib)


def predicted(images: Sequence[Image], folder: Path) -> list[Document]:
    """Return a row for each image and start: predicted and measured numbers."""
    unpacking = read_unpacking(folder / "unpacking.json").by_compressor
    rows = []
    with opened(folder / "base.squashfs") as octets:
        tables = read_squashfs(octets)
        starts = {
            start.name: on_image(load(folder / f"capture-{start.name}"), tables) for start in STARTS
        }
        order = order_of([start.start for start in starts.values()])
        layouts = [image.layout for image in images]
        for name, start in starts.items():
            window = present_window(start.inputs, start.disk)
            start_cases = list(cases(start, octets, layouts, order, window))
            timed = timing(start, start_cases[0], unpacking, DEVICE)
            for image, case in zip(images, start_cases[1:], strict=True):
                reads = counted(start, case, start_cases[0])
                numbers = (timed.seconds(case, reads), reads.requests, reads.read_bytes)
                rows.append(_row(image, name, numbers, folder))
    return rows


def _row(image: Image, start: str, numbers: Sequence[float | None], folder: Path) -> Document:
    measured = json.loads(measured_file(image, folder).read_text())
    run = measured["runs"][start]
    return {
        "image": image.name,
        "pair": image.name.rpartition("-")[0],
        "ordered": image.name.endswith("-sorted"),
        "start": start,
        "predicted": dict(zip(("seconds", "requests", "bytes"), numbers, strict=True)),
        "measured": {name: run[of] for name, of in _COLUMNS.items()},
    }
