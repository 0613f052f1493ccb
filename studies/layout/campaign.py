"""What the studies of layouts share: which images are measured, where, and what is printed."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from studies.accuracy.store import Document
from studies.layout import tables


class Built(Protocol):
    """An image of the study."""

    @property
    def name(self) -> str:
        """Its name in the results."""

    def build(self, root: Path, layout: Path, image: Path) -> None:
        """Build it of a folder; ``layout`` is what `foreread layout` wrote."""


I = TypeVar("I", bound=Built)  # noqa: E741


@dataclass(frozen=True)
class Campaign(Generic[I]):
    """A study: ``prepare`` makes root, order and captures in its folder, the rest is by image.

    ``keeps_images``: the prediction reads them. ``doc`` is the study's own description.
    """

    doc: str
    output: str
    images: Sequence[I]
    prepare: Callable[[Path], None]
    measure: Callable[[I, Path, Path], Document]
    predict: Callable[[Sequence[I], Path], list[Document]]
    keeps_images: bool = False

    def main(self, words: Sequence[str] | None = None) -> int:
        """Measure the selected images, predict them, and print the tables."""
        parser = argparse.ArgumentParser(description=self.doc.partition("\n")[0])
        parser.add_argument("-o", "--output", type=Path, default=Path(self.output), metavar="DIR")
        parser.add_argument("--only", action="append", default=[], metavar="IMAGE")
        parser.add_argument("--predict", action="store_true", help="measure nothing")
        args = parser.parse_args(words)
        folder = args.output.absolute()
        folder.mkdir(parents=True, exist_ok=True)
        chosen = [image for image in self.images if not args.only or image.name in args.only]
        if not args.predict:
            self.prepare(folder)
            self._measure(
                [image for image in chosen if not measured_file(image, folder).exists()], folder
            )
        measured = [image for image in chosen if measured_file(image, folder).exists()]
        rows = self.predict(measured, folder)
        (folder / "layout.json").write_text(json.dumps(rows, indent=1) + "\n")
        report = tables.text(rows)
        (folder / "layout.md").write_text(report)
        print(report)
        return 0

    def _measure(self, images: Sequence[I], folder: Path) -> None:
        """Build images, and measure the starts on each."""
        (folder / "measured").mkdir(exist_ok=True)
        for definition in images:
            image = folder / f"{definition.name}.image"
            if not image.exists():
                definition.build(folder / "root", folder / "layout", image)
            document = self.measure(definition, image, folder)
            measured_file(definition, folder).write_text(json.dumps(document, indent=1) + "\n")
            if not self.keeps_images:
                image.unlink()


def measured_file(image: Built, folder: Path) -> Path:
    """Return the file with what was measured of an image."""
    return folder / "measured" / f"{image.name}.json"
