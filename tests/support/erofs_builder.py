"""The real mkfs.erofs: that of the machine, or the newer one that MKFS_EROFS names."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from image_trees import built

MKFS = os.environ.get("MKFS_EROFS", "mkfs.erofs")
IMAGES: dict[str, tuple[str, ...]] = {
    "uncompressed": (),
    "lz4": ("-zlz4",),
    "lz4 in large clusters": ("-zlz4hc", "-C65536"),
    "ends inline": ("-zlz4hc", "-Eztailpacking"),
    "fragments": ("-zlz4hc", "-C65536", "-Efragments"),
    # erofs-utils 1.8 on; Debian 12 has 1.5.
    "zstd": ("-zzstd",),
    "zstd in large clusters": ("-zzstd", "-C65536"),
    "zstd fragments": ("-zzstd", "-C32768", "-Efragments,ztailpacking"),
    "deflate": ("-zdeflate", "-C16384"),
    "lzma": ("-zlzma", "-C65536"),
}
_NEWER = ("zstd", "deflate", "lzma")


def build(name: str, tree: Path, image: Path) -> Path:
    """Build one of IMAGES, or skip the test."""
    if shutil.which(MKFS) is None:
        pytest.skip("no mkfs.erofs: its images were not read")
    compressor = name.split(maxsplit=1)[0]
    if compressor in _NEWER and compressor not in _help():
        pytest.skip(f"this machine's mkfs.erofs has no {compressor}: set MKFS_EROFS to a newer one")
    built(MKFS, "--quiet", *IMAGES[name], image, tree)
    return image


@cache
def _help() -> str:
    done = subprocess.run([MKFS, "--help"], check=False, capture_output=True, text=True)
    return done.stdout + done.stderr
