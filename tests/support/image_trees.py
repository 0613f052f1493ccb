"""Trees of files and the images that real builders make of them."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path, PurePosixPath

import pytest

from foreread.analyzer.ingest.recording import Recording

ON_SQUASHFS = (
    Path(__file__).parents[1] / "foreread/data/squashfs-madplay/squashfs-madplay.capture.tar.xz"
)
TEXT = b"readahead window, request, page, block, fragment, inode, directory; "


def contents(size: int, seed: int, share: float = 0.5) -> bytes:
    """Return bytes of which about ``share`` does not compress."""
    chance = random.Random(seed)
    parts: list[bytes] = []
    while sum(map(len, parts)) < size:
        noise = chance.random() < share
        parts.append(chance.randbytes(777) if noise else TEXT * chance.randint(1, 20))
    return b"".join(parts)[:size]


def tree_of(recording: Recording, root: Path, seed: int = 0) -> Path:
    """Make the files of a recording, with contents of these sizes, and many others."""
    named = [path for path in recording.paths if path is not None]
    folders = {str(above) for path in named for above in PurePosixPath(path).parents}
    for row, path in enumerate(recording.paths):
        entry = recording.entries[row]
        if path is None or path in folders or (entry is not None and entry.link):
            continue
        place = root / path[1:]
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(contents(int(recording.files["size_bytes"][row]), row + seed))
    for number in range(200):
        place = root / f"usr/lib/other/{number:03d}"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(contents(30_000, number + 1000, share=0.8))
    return root


def make_tree(root: Path, seed: int = 0) -> dict[str, bytes]:
    """Fill a folder with files of many kinds; return contents by path in the image."""
    chance = random.Random(seed)
    sizes = [0, 1, 4095, 4096, 4097, 65536, 131072, 131073, 300_000, 1_100_000]
    files: dict[str, bytes] = {}
    for number, size in enumerate(sizes):
        files[f"/usr/lib/lib{number}.so"] = contents(size, number)
    for number in range(300):
        files[f"/etc/conf.d/setting-{number:03d}"] = contents(chance.randint(1, 900), number)
    files["/usr/share/same"] = files["/usr/lib/lib8.so"]
    files["/deep/" + "d/" * 30 + "file"] = b"deep"
    for path, octets in files.items():
        target = root / path[1:]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(octets)
    os.link(root / "usr/lib/lib5.so", root / "usr/lib/another-name")
    files["/usr/lib/another-name"] = files["/usr/lib/lib5.so"]
    (root / "usr/lib/link.so").symlink_to("lib5.so")
    sparse = root / "var/sparse"
    sparse.parent.mkdir()
    with sparse.open("wb") as hole:
        hole.write(b"begin")
        hole.seek(700_000)
        hole.write(b"end")
    files["/var/sparse"] = sparse.read_bytes()
    return files


def built(*command: str | Path) -> None:
    """Run a builder of images; skip if it is not installed, fail with its words if it fails."""
    program = str(command[0])
    if shutil.which(program) is None:
        pytest.skip(f"no {program}: its images were not read")
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def squashfs(tree: Path, image: Path, *options: str) -> Path:
    """Build a squashfs image with mksquashfs."""
    quiet = ("-noappend", "-quiet", "-no-progress", "-all-root", "-processors", "1")
    built("mksquashfs", tree, image, *quiet, *options)
    return image
