"""The application's file system image, made of unpacked packages."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from boards.emulated.error import BoardError, call, require_tool

FILE_SYSTEMS = ("ext4", "squashfs")
SAMPLE = "sample.mp3"
_SPACE = "free some space in the cache's file system"
# Also the seed of the directories' hashes: a fixed one, so that their order repeats.
_UUID = "f0e1d2c3-b4a5-4697-8879-6a5b4c3d2e1f"


@dataclass(frozen=True)
class Owner:
    """Whose a file of the image is; all others are root's."""

    path: str
    uid: int
    gid: int


def add_board_files(tree: Path, busybox: Path) -> None:
    """Add the files that the application's root needs besides its packages."""
    for name in ("bin", "dev", "proc", "tmp"):
        (tree / name).mkdir(exist_ok=True)
    shutil.copy(busybox, tree / "bin/busybox")
    (tree / "bin/sh").unlink(missing_ok=True)
    (tree / "bin/sh").symlink_to("busybox")
    (tree / SAMPLE).write_bytes(silent_mp3(60))


def build_image(
    tree: Path, fs: str, image: Path, free_mib: int = 0, owners: Sequence[Owner] = ()
) -> None:
    """Write an image of ``tree`` with some room, if it can be written to; raises BoardError."""
    if fs == "ext4":
        _ext4(tree, image, free_mib)
        _give_away(image, owners)
    else:
        _squashfs(tree, image, owners)


def silent_mp3(seconds: int) -> bytes:
    """Return MPEG-1 layer III at 128 kbit/s and 44.1 kHz: valid frames that decode to silence.

    Side information of zeros says that no bit of the main data is used (ISO/IEC 11172-3,
    2.4.1.7), so that this is filled with noise, which a compressing file system cannot shrink.
    """
    noise = random.Random(11172)
    header, side_information, frame_bytes = b"\xff\xfb\x90\x00", bytes(32), 417
    filler = frame_bytes - len(header) - len(side_information)
    frames = seconds * 44100 // 1152
    return b"".join(header + side_information + noise.randbytes(filler) for _ in range(frames))


def _ext4(tree: Path, image: Path, free_mib: int) -> None:
    tool = require_tool("mke2fs", "e2fsprogs")
    found = [path.stat() for path in tree.rglob("*") if not path.is_symlink()]
    files = {(one.st_dev, one.st_ino): one.st_size for one in found}  # hard links share one
    data_kib = sum(-(-size // 4096) * 4 for size in files.values())
    size_kib = (data_kib + data_kib // 8 + 4 * len(files) + 4096) // 1024 * 1024
    size_kib += free_mib * 1024
    options = ["-q", "-F", "-t", "ext4", "-m", "0", "-b", "4096", "-O", "^has_journal"]
    same = ["-U", _UUID, "-E", f"root_owner=0:0,lazy_itable_init=0,hash_seed={_UUID}"]
    # The files belong to whoever unpacked them, and shall be root's on the board.
    unshare = [] if os.getuid() == 0 else [require_tool("unshare", "util-linux"), "-r"]
    call([*unshare, tool, *options, *same, "-d", tree, image, f"{size_kib}k"], _SPACE)


def _give_away(image: Path, owners: Sequence[Owner]) -> None:
    """Set owners in an ext4 image: nobody but root could in the tree that it is made of."""
    fields = [
        (one.path, name, n) for one in owners for name, n in (("uid", one.uid), ("gid", one.gid))
    ]
    lines = [f'set_inode_field "/{path}" {name} {n}\n' for path, name, n in fields]
    if lines:
        script = image.with_name(f"{image.name}.owners")
        script.write_text("".join(lines))
        call([require_tool("debugfs", "e2fsprogs"), "-w", "-f", script, image], _SPACE)
        script.unlink()


def _squashfs(tree: Path, image: Path, owners: Sequence[Owner]) -> None:
    tool = require_tool("mksquashfs", "squashfs-tools")
    same = ["-all-root", "-all-time", "0", "-mkfs-time", "0", "-processors", "1"]
    modes = [(one, (tree / one.path).lstat().st_mode & 0o7777) for one in owners]
    given = [
        word for one, mode in modes for word in ("-p", f"{one.path} m {mode:o} {one.uid} {one.gid}")
    ]
    call([tool, tree, image, "-noappend", "-quiet", "-no-progress", *same, *given], _SPACE)


def check_file_system(fs: str) -> None:
    """Raise BoardError if there is no way to make that file system."""
    if fs not in FILE_SYSTEMS:
        raise BoardError(f"no image of {fs!r} can be made", f"use {' or '.join(FILE_SYSTEMS)}")
