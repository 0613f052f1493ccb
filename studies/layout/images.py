"""The images of the study: one root in several orders, block sizes, compressors, file systems."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from analyzer.layout.predicted import Layout
from emulator.images.compressors import Compressor

KERNEL = "6.12"
PACKAGES = ("madplay", "perl", "python3", "vim")
_SIZE = "230M"  # of an ext4 image
_SAME = ("-all-root", "-all-time", "0", "-mkfs-time", "0")


@dataclass(frozen=True)
class Image:
    """An image of squashfs; ``ordered``: with the order of all starts of the study."""

    compressor: Compressor
    block_kib: int
    ordered: bool
    fs: str = "squashfs"

    @property
    def name(self) -> str:
        """Its name in the results."""
        order = "sorted" if self.ordered else "default"
        return f"squashfs-{self.compressor}-{self.block_kib}K-{order}"

    @property
    def layout(self) -> Layout:
        """It as the prediction takes it."""
        return Layout(self.block_kib << 10, self.compressor, self.ordered)

    def build(self, root: Path, sort_file: Path, image: Path) -> None:
        """Build it of a folder."""
        order = ["-sort", str(sort_file)] if self.ordered else []
        words = ["-noappend", "-quiet", "-no-progress", "-comp", self.compressor]
        words += ["-b", f"{self.block_kib}K", *order, *_SAME]
        part = image.with_name(f"{image.name}.part")
        subprocess.run(["mksquashfs", str(root), str(part), *words], check=True)
        part.replace(image)


@dataclass(frozen=True)
class OtherImage:
    """An image of EROFS, of which the start is measured and not predicted."""

    name: str
    words: tuple[str, ...]
    fs: str = "erofs"

    def build(self, root: Path, sort_file: Path, image: Path) -> None:
        """Build it of a folder; mkfs.erofs takes no order."""
        del sort_file
        part = image.with_name(f"{image.name}.part")
        words = ["--quiet", "-T0", "--all-root", *self.words, str(part), str(root)]
        subprocess.run(["mkfs.erofs", *words], check=True)
        part.replace(image)


@dataclass(frozen=True)
class Ext4Image:
    """An image of ext4, of which the start is measured and not predicted."""

    ordered: bool
    fs: str = "ext4"

    @property
    def name(self) -> str:
        """Its name in the results."""
        return f"ext4-{'sorted' if self.ordered else 'default'}"

    def build(self, root: Path, sort_file: Path, image: Path) -> None:
        """Build it of a folder, in the order by the script beside the sort file."""
        words = ["-b", "4096", "-O", "^has_journal"]
        if self.ordered:
            script = sort_file.with_name("ordered-ext4")
            subprocess.run(["sh", str(script), str(root), str(image), _SIZE, *words], check=True)
            return
        command = ["mke2fs", "-q", "-t", "ext4", *words, "-d", str(root), str(image), _SIZE]
        subprocess.run(command, check=True)


AnyImage = Image | OtherImage | Ext4Image


def images() -> list[AnyImage]:
    """Return all images, those first that say most."""
    kinds: Sequence[tuple[Compressor, int]] = (
        *(("gzip", 128), ("zstd", 1024), ("xz", 256), ("lz4", 128), ("gzip", 1024)),
        *(("zstd", 128), ("lz4", 1024), ("gzip", 64), ("xz", 1024), ("zstd", 256), ("lz4", 64)),
    )
    found: list[AnyImage] = [
        Image(kind, kib, ordered) for kind, kib in kinds for ordered in (False, True)
    ]
    return [
        *found,
        OtherImage("erofs-lz4-4K-default", ("-zlz4",)),
        OtherImage("erofs-lz4-64K-default", ("-zlz4", "-C65536")),
        OtherImage("erofs-uncompressed-default", ()),
        *(Ext4Image(ordered) for ordered in (False, True)),
    ]
