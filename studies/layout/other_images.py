"""Images of EROFS and ext4 of one root, in the builder's order and in the starts' order."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

_SIZE = "255M"  # of an ext4 image
MKFS_EROFS = os.environ.get("MKFS_EROFS", "mkfs.erofs")


@dataclass(frozen=True)
class OtherImage:
    """An image; ``words`` are the arguments of its builder, ``fs`` is erofs or ext4."""

    fs: str
    kind: str
    words: tuple[str, ...]
    ordered: bool

    @property
    def name(self) -> str:
        """Its name in the results."""
        order = "sorted" if self.ordered else "default"
        return f"{self.kind}-{order}"

    @property
    def root(self) -> str:
        """It as the root of a board (boards/emulated/image.py)."""
        return "erofs-uncompressed" if self.kind == "erofs-uncompressed" else self.fs

    def build(self, root: Path, layout: Path, image: Path) -> None:
        """Build it of a folder; ``layout`` is what `foreread layout` wrote."""
        part = image.with_name(f"{image.name}.part")
        part.unlink(missing_ok=True)
        if self.fs == "ext4":
            self._build_ext4(root, layout, part)
        elif self.ordered:
            script = layout / "ordered-erofs"
            environment = {**os.environ, "MKFS_EROFS": MKFS_EROFS}
            command = ["sh", str(script), str(root), str(part), *self.words]
            subprocess.run(command, check=True, env=environment)
        else:
            command = [MKFS_EROFS, "--quiet", *self.words, str(part), str(root)]
            subprocess.run(command, check=True)
        part.replace(image)

    def _build_ext4(self, root: Path, layout: Path, part: Path) -> None:
        if self.ordered:
            script = layout / "ordered-ext4"
            command = ["sh", str(script), str(root), str(part), _SIZE, *self.words]
            subprocess.run(command, check=True)
            return
        command = ["mke2fs", "-q", "-t", "ext4", *self.words, "-d", str(root), str(part), _SIZE]
        subprocess.run(command, check=True)


def other_images() -> list[OtherImage]:
    """Return all images, default and sorted of each kind."""
    same = ("-T0", "--all-root")
    kinds: tuple[tuple[str, str, tuple[str, ...]], ...] = (
        ("erofs", "erofs-uncompressed", same),
        ("erofs", "erofs-lz4-4K", ("-zlz4", *same)),
        ("erofs", "erofs-lz4-64K", ("-zlz4", "-C65536", *same)),
        ("erofs", "erofs-zstd-64K", ("-zzstd", "-C65536", *same)),
        ("ext4", "ext4", ("-b", "4096", "-O", "^has_journal")),
    )
    return [
        OtherImage(fs, kind, words, ordered)
        for fs, kind, words in kinds
        for ordered in (False, True)
    ]
