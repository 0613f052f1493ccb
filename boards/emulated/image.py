"""The application's file system image, built from unpacked packages."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from foreread.boards.base.units import KIB
from foreread.boards.emulated.error import BoardError, call, require_tool

_OVERLAY = "overlay-"
# By file system, the options of mkfs.erofs; compressors besides LZ4 need erofs-utils 1.8.
EROFS = {
    "erofs": ("-zlz4hc",),
    "erofs-uncompressed": (),
    "erofs-zstd": ("-zzstd", "-C65536"),
    "erofs-deflate": ("-zdeflate", "-C16384"),
    "erofs-lzma": ("-zlzma", "-C65536"),
}
FILE_SYSTEMS = (
    *("ext4", "squashfs", *EROFS, "btrfs", "f2fs"),
    *("overlay-squashfs", "overlay-erofs"),
)
SAMPLE = "sample.mp3"
MERGED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_BTRFS_MIB = 64  # for its trees
_F2FS_MIB = 64  # its free segments and its own tables; less cannot be mounted
_SPACE = "free some space in the cache's file system"
# Also the seed of the directories' hashes: a fixed one, so that their order repeats.
_UUID = "f0e1d2c3-b4a5-4697-8879-6a5b4c3d2e1f"


@dataclass(frozen=True)
class Owner:
    """The owner of a file of the image; all other files belong to root."""

    path: str
    uid: int
    gid: int


def add_board_files(tree: Path, busybox: Path) -> None:
    """Add the files that the application's root needs in addition to its packages."""
    if not (tree / "lib").exists():
        _link_into_usr(tree)
    for name in ("bin", "dev", "proc", "tmp"):
        (tree / name).mkdir(exist_ok=True)
    shutil.copy(busybox, tree / "bin/busybox")
    (tree / "bin/sh").unlink(missing_ok=True)
    (tree / "bin/sh").symlink_to("busybox")
    (tree / SAMPLE).write_bytes(silent_mp3(60))


def _link_into_usr(tree: Path) -> None:
    """Link /lib and the like: packages from Debian 13 on have no files there."""
    for place in sorted((tree / "usr").glob("*bin")) + sorted((tree / "usr").glob("lib*")):
        if place.name in MERGED and not (tree / place.name).exists():
            (tree / place.name).symlink_to(f"usr/{place.name}")


def build_image(
    tree: Path, fs: str, image: Path, free_mib: int = 0, owners: Sequence[Owner] = ()
) -> None:
    """Write an image of ``tree``, with ``free_mib`` if it is writable; raises BoardError."""
    kind = on_disk(fs)
    if kind == "ext4":
        _ext4(tree, image, free_mib)
        _give_away(image, owners)
    elif kind == "squashfs":
        _squashfs(tree, image, owners)
    elif owners:
        raise BoardError(
            f"an image of {kind} has root's files only, and {owners[0].path} is another's",
            "use --fs ext4 or --fs squashfs",
        )
    elif kind == "erofs":
        _erofs(tree, image, EROFS[kind_of(fs)])
    elif kind == "f2fs":
        _f2fs(tree, image, free_mib)
    else:
        _btrfs(tree, image, free_mib)


def kind_of(fs: str) -> str:
    """Return the kind of image on the disk: the lower layer of an overlay."""
    return fs.removeprefix(_OVERLAY)


def on_disk(fs: str) -> str:
    """Return the file system on the disk, with the name that mount uses."""
    return kind_of(fs).partition("-")[0]


def is_read_only(fs: str) -> bool:
    """Return whether the image is never written; an overlay writes to its upper layer."""
    return on_disk(fs) in ("squashfs", "erofs")


def modules_of(fs: str) -> tuple[str, ...]:
    """Return the modules that a file system needs and not every board loads."""
    own = {
        "erofs": ("erofs",),
        "btrfs": ("btrfs",),
        "f2fs": ("crc32_generic", "f2fs"),
    }.get(on_disk(fs), ())
    return (*own, "overlay") if fs.startswith(_OVERLAY) else own


def silent_mp3(seconds: int) -> bytes:
    """Return MPEG-1 layer III at 128 kbit/s and 44.1 kHz: valid frames that decode to silence.

    Side information of zeros means that no bit of the main data is used (ISO/IEC 11172-3, 2.4.1.7).
    The main data are noise, which a compressing file system cannot shrink.
    """
    noise = random.Random(11172)
    header, side_information, frame_bytes = b"\xff\xfb\x90\x00", bytes(32), 417
    filler = frame_bytes - len(header) - len(side_information)
    frames = seconds * 44100 // 1152
    return b"".join(header + side_information + noise.randbytes(filler) for _ in range(frames))


def _ext4(tree: Path, image: Path, free_mib: int) -> None:
    tool = require_tool("mke2fs", "e2fsprogs")
    stats = [path.stat() for path in tree.rglob("*") if not path.is_symlink()]
    files = {(stat.st_dev, stat.st_ino): stat.st_size for stat in stats}  # hard links share one
    data_kib = sum(-(-size // 4096) * 4 for size in files.values())
    size_kib = (data_kib + data_kib // 8 + 4 * len(files) + 4096) // KIB * KIB
    size_kib += free_mib * KIB
    options = ["-q", "-F", "-t", "ext4", "-m", "0", "-b", "4096", "-O", "^has_journal"]
    same = ["-U", _UUID, "-E", f"root_owner=0:0,lazy_itable_init=0,hash_seed={_UUID}"]
    # The files belong to the user who unpacked them, and to root on the board.
    unshare = [] if os.getuid() == 0 else [require_tool("unshare", "util-linux"), "-r"]
    call([*unshare, tool, *options, *same, "-d", tree, image, f"{size_kib}k"], _SPACE)


def _give_away(image: Path, owners: Sequence[Owner]) -> None:
    """Set owners in an ext4 image: only root could set them in the tree."""
    fields = [
        (owner.path, name, n)
        for owner in owners
        for name, n in (("uid", owner.uid), ("gid", owner.gid))
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
    modes = [(owner, (tree / owner.path).lstat().st_mode & 0o7777) for owner in owners]
    words = [
        word
        for owner, mode in modes
        for word in ("-p", f"{owner.path} m {mode:o} {owner.uid} {owner.gid}")
    ]
    call([tool, tree, image, "-noappend", "-quiet", "-no-progress", *same, *words], _SPACE)


def mkfs_erofs() -> str:
    """Return the program that makes images of EROFS: MKFS_EROFS, or mkfs.erofs on PATH."""
    return os.environ.get("MKFS_EROFS") or require_tool("mkfs.erofs", "erofs-utils")


def _erofs(tree: Path, image: Path, compression: Sequence[str]) -> None:
    newer = "set MKFS_EROFS to mkfs.erofs of erofs-utils 1.8 or later"
    remedy = newer if compression not in (EROFS["erofs"], ()) else _SPACE
    call([mkfs_erofs(), *compression, "-T0", "-U", _UUID, "--all-root", image, tree], remedy)


def _btrfs(tree: Path, image: Path, free_mib: int) -> None:
    tool = require_tool("mkfs.btrfs", "btrfs-progs")
    sizes = sum(path.lstat().st_size for path in tree.rglob("*") if path.is_file())
    with image.open("wb") as file:
        file.truncate((sizes // (1 << 20) * 5 // 4 + _BTRFS_MIB + free_mib) << 20)
    unshare = [] if os.getuid() == 0 else [require_tool("unshare", "util-linux"), "-r"]
    call([*unshare, tool, "-q", "-U", _UUID, "--mixed", "--rootdir", tree, image], _SPACE)


def _f2fs(tree: Path, image: Path, free_mib: int) -> None:
    sizes = sum(path.lstat().st_size for path in tree.rglob("*") if path.is_file())
    with image.open("wb") as file:
        file.truncate((sizes // (1 << 20) * 5 // 4 + _F2FS_MIB + free_mib) << 20)
    call([require_tool("mkfs.f2fs", "f2fs-tools"), "-q", "-r", "-U", _UUID, image], _SPACE)
    call([require_tool("sload.f2fs", "f2fs-tools"), "-T", "0", "-f", tree, image], _SPACE)


def check_file_system(fs: str) -> None:
    """Raise BoardError if foreread cannot make an image of that file system."""
    if fs not in FILE_SYSTEMS:
        raise BoardError(f"no image of {fs!r} can be made", f"use {' or '.join(FILE_SYSTEMS)}")
