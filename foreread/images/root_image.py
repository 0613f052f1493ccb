"""A temporary image of the folder that an image is built from."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from foreread.boards.base.scratch import scratch_folder
from foreread.error import ForereadError


class RootError(ForereadError, ValueError):
    """A folder or an image that cannot be used to build an image; ``remedy`` says what to do."""


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
    tool = find_tool("mksquashfs", "squashfs-tools")
    options = ("-noappend", "-quiet", "-no-progress", *words)
    run_tool([tool, str(root), str(image), *options], f"mksquashfs {root}")


def find_tool(name: str, package: str) -> str:
    """Return the path of a program that reads or builds images. Raises RootError."""
    path = shutil.which(name)
    if path is None:
        raise RootError(f"{name} is missing", f"apt-get install {package}")
    return path


def run_tool(command: Sequence[str], what: str) -> None:
    """Run a program; RootError has the last line of its messages."""
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
        raise RootError(f"{what}: {last[0]}", "see its message")
