"""Builds images of EROFS and ext4 of a folder, with the builders of this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from foreread.analyzer.layout.images_compared import NO_COMPRESSOR, ErofsLayout
from foreread.analyzer.layout.write import ErofsWords
from foreread.boards.base.units import KIB
from foreread.images.root_image import find_tool, run_tool

_KEEPS_OLD = ("-T0", "--all-root")
_EROFS, _EXT4 = "erofs-utils", "e2fsprogs"  # packages


def extracted(image: Path, root: Path) -> Path:
    """Write the files of an image to a new folder. Raises RootError."""
    run_tool(
        [find_tool("fsck.erofs", _EROFS), f"--extract={root}", str(image)], f"extracting {image}"
    )
    return root


def build_erofs(root: Path, layout: ErofsLayout, image: Path, scripts: Path) -> Path:
    """Build an image of a folder; ``scripts`` has ordered-erofs. Raises RootError."""
    words = [*_KEEPS_OLD, *ErofsWords(layout.compressor, layout.cluster_size).options]
    if layout.ordered:
        command = ["sh", str(scripts / "ordered-erofs"), str(root), str(image), *words]
    else:
        command = [mkfs_erofs(), "--quiet", *words, str(image), str(root)]
    run_tool(command, f"building an EROFS image of {root}")
    return image


def extracted_ext4(image: Path, root: Path) -> Path:
    """Write the files of an image of ext2 to ext4 to a new folder. Raises RootError."""
    root.mkdir()
    debugfs = find_tool("debugfs", _EXT4)
    run_tool([debugfs, "-R", f"rdump / {root}", str(image)], f"reading {image}")
    shutil.rmtree(root / "lost+found", ignore_errors=True)
    return root


def build_ordered_ext4(root: Path, image: Path, scripts: Path, size: int, block: int) -> Path:
    """Build an ext4 image of ``size`` bytes in the order of ordered-ext4. Raises RootError."""
    find_tool("mke2fs", _EXT4)
    words = [f"{size // KIB}K", "-b", str(block), "-O", "^has_journal"]
    run_tool(["sh", str(scripts / "ordered-ext4"), str(root), str(image), *words], "mke2fs")
    return image


def mkfs_erofs() -> str:
    """Return the program that builds images: MKFS_EROFS, or mkfs.erofs. Raises RootError."""
    return os.environ.get("MKFS_EROFS") or find_tool("mkfs.erofs", _EROFS)


@cache
def can_compress(compressor: str) -> bool:
    """Whether mkfs.erofs has a compressor; zstd needs erofs-utils 1.8."""
    if compressor == NO_COMPRESSOR:
        return True
    done = subprocess.run([mkfs_erofs(), "--help"], capture_output=True, check=False)
    text = (done.stdout + done.stderr).decode(errors="replace")
    return compressor in re.findall(r"[a-z0-9]+", text)
