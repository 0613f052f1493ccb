"""The images of the study: one root as squashfs, by order, block size and compressor."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from foreread.analyzer.layout.predicted import Layout
from foreread.emulator.images.compressors import Compressor

KERNEL = "6.12"
PACKAGES = ("madplay", "perl", "python3", "vim")
_SAME = ("-all-root", "-all-time", "0", "-mkfs-time", "0")


@dataclass(frozen=True)
class Image:
    """An image of squashfs; ``ordered``: with the order of all starts of the study."""

    compressor: Compressor
    block_kib: int
    ordered: bool

    @property
    def name(self) -> str:
        """Its name in the results."""
        order = "sorted" if self.ordered else "default"
        return f"squashfs-{self.compressor}-{self.block_kib}K-{order}"

    @property
    def layout(self) -> Layout:
        """It as the prediction takes it."""
        return Layout(self.block_kib << 10, self.compressor, self.ordered)

    def build(self, root: Path, layout: Path, image: Path) -> None:
        """Build it of a folder; ``layout`` is what `foreread layout` wrote."""
        order = ["-sort", str(layout / "squashfs.sort")] if self.ordered else []
        words = ["-noappend", "-quiet", "-no-progress", "-comp", self.compressor]
        words += ["-b", f"{self.block_kib}K", *order, *_SAME]
        part = image.with_name(f"{image.name}.part")
        subprocess.run(["mksquashfs", str(root), str(part), *words], check=True)
        part.replace(image)


def images() -> list[Image]:
    """Return all images, those first that say most."""
    kinds: Sequence[tuple[Compressor, int]] = (
        *(("gzip", 128), ("zstd", 1024), ("xz", 256), ("lz4", 128), ("gzip", 1024)),
        *(("zstd", 128), ("lz4", 1024), ("gzip", 64), ("xz", 1024), ("zstd", 256), ("lz4", 64)),
    )
    return [Image(kind, kib, ordered) for kind, kib in kinds for ordered in (False, True)]
