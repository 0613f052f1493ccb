"""An ext4 image on a loop device of its own, with an application and data in it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from loop_devices import attached
from machine_lock import nobody_records

from foreread.boards.mounts import read_mounts
from foreread.tracer.formats.capture import Metadata

WINDOW_KB = 84  # set before a test; nothing else on the machine has it


@dataclass(frozen=True)
class LoopImage:
    """A mounted image; ``busybox`` is the application in it, ``data`` a file of 64 pages."""

    mountpoint: Path
    device: str  # name of the loop device

    @property
    def busybox(self) -> Path:
        return self.mountpoint / "busybox"

    @property
    def data(self) -> Path:
        return self.mountpoint / "data"

    @property
    def knob(self) -> Path:
        return Path(f"/sys/block/{self.device}/queue/read_ahead_kb")

    def window_kb(self) -> int:
        return int(self.knob.read_text())

    def restored_kb(self) -> int:
        """Return the window while no foreread changes it."""
        with nobody_records():
            return self.window_kb()

    def notes_of(self, capture: Metadata) -> list[str]:
        """Return a run's notes without those on knobs of others' disks, which come and go."""
        own = f"/{self.device}/"
        return [note for note in capture.notes if "/sys/" not in note or own in note]


def mount_options(loop: LoopImage) -> set[str]:
    """Return the options of the mounted image, without that of others.

    Another foreread that records turns readahead in inode tables off, on every ext4.
    """
    (found,) = (one for one in read_mounts() if one.mountpoint == str(loop.mountpoint))
    words = {*found.options.split(","), *found.super_options.split(",")}
    return words - {"inode_readahead_blks=0"}


@contextmanager
def mounted(image: Path, mountpoint: Path, logical_block: int = 512) -> Iterator[str]:
    """Mount ``image`` on a loop device, whose name is yielded; undo both at the end.

    ``logical_block`` is the device's, in bytes.
    """
    mountpoint.mkdir(exist_ok=True)
    sector_size = ("--sector-size", str(logical_block))
    with ExitStack() as stack:
        device = stack.enter_context(attached(image, "--direct-io=on", *sector_size))
        _run("mount", f"/dev/{device}", mountpoint)
        stack.callback(_run, "umount", "--lazy", mountpoint)
        yield device


@contextmanager
def loop_image(directory: Path) -> Iterator[LoopImage]:
    """Make, fill and mount an image; unmount and detach it whatever the test does."""
    image, mountpoint = directory / "image", directory / "mounted"
    _run("truncate", "-s", "24M", image)
    _run("mkfs.ext4", "-q", "-F", image)
    with mounted(image, mountpoint) as device:
        loop = LoopImage(mountpoint, device)
        shutil.copy(shutil.which("busybox") or "", loop.busybox)
        # Text, so that a failing test that shows its output can be read.
        loop.data.write_text(os.urandom(32 * os.sysconf("SC_PAGE_SIZE")).hex())
        with nobody_records():
            loop.knob.write_text(str(WINDOW_KB))
        yield loop


@contextmanager
def read_only_disk(directory: Path) -> Iterator[str]:
    """Mount a file system with one random file, ``mnt/large`` of 48 MiB; yield its loop device."""
    image, root = directory / "image", directory / "root"
    root.mkdir()
    (root / "large").write_bytes(os.urandom(48 << 20))
    _run("truncate", "-s", "64M", image)
    _run("mkfs.ext4", "-q", "-F", "-d", root, image)
    with mounted(image, directory / "mnt") as device:
        _run("mount", "-o", "remount,ro", directory / "mnt")
        yield device


def _run(*words: object) -> str:
    return subprocess.run(
        [str(word) for word in words], check=True, capture_output=True, text=True
    ).stdout
