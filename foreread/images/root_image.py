"""A temporary image of the folder that an image is built from."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from foreread.boards.base.scratch import scratch_folder
from foreread.error import ForereadError


class RootError(ForereadError, ValueError):
    """A folder of which no image can be built; ``remedy`` says what to do."""


@contextmanager
def image_of_root(root: Path) -> Iterator[Path]:
    """Yield an image of a folder, as mksquashfs builds it by default. Raises RootError."""
    if not root.is_dir():
        raise RootError(f"no folder {root}", "give the folder that the image is built from")
    with scratch_folder("image") as folder:
        image = Path(folder) / "image"
        mksquashfs(root, image)
        yield image


def mksquashfs(root: Path, image: Path, *words: str) -> None:
    """Build an image. Raises RootError."""
    tool = shutil.which("mksquashfs")
    if tool is None:
        raise RootError("mksquashfs is missing", "apt-get install squashfs-tools")
    line = [tool, str(root), str(image), "-noappend", "-quiet", "-no-progress", *words]
    done = subprocess.run(line, capture_output=True, check=False)
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
        raise RootError(f"mksquashfs {root}: {last[0]}", "see its message")
