"""A loop board: Debian packages in an image on a loop device; a cgroup limits its reads."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE

from studies.accuracy.packages import files_of

_V1 = Path("/sys/fs/cgroup/blkio")
_V2 = Path("/sys/fs/cgroup")
_SPARE_MIB = 64
_ROOM_BYTES = 8 << 30  # a tree of packages, and the image made of it
# Debian's own merge of /usr; packages list paths on either side of it.
_MERGED = ("bin", "sbin", "lib", "lib64", "lib32")


@dataclass(frozen=True)
class Limit:
    """What the cgroup lets through a second, and its name."""

    name: str
    bytes_per_second: int
    requests_per_second: int

    def write(self, folder: Path) -> Path:
        """Write it as ``foreread predict --device-model`` reads it, and return the file."""
        file = folder / f"{self.name}.toml"
        pace = f"requests_per_second = {self.requests_per_second}\n"
        pace += f"bytes_per_second = {self.bytes_per_second}\n"
        file.write_text(f'kind = "paced"\n{pace}slice_ms = 100\n')  # the limiter grants at once
        return file


class LoopBoard:
    """The board, made at its first use; ``end`` removes its files, mounts and devices.

    ``fill`` puts files for the applications into the tree from which the image is made.
    """

    def __init__(self, packages: Sequence[str], fill: Callable[[Path], None]) -> None:
        self._packages = packages
        self._fill = fill
        self._undo = ExitStack()
        self._work: Path | None = None
        self.disk = ""  # name of the loop device
        self._group = _group_folder()

    @property
    def root(self) -> Path:
        """Where the image is mounted."""
        assert self._work is not None
        return self._work / "mnt"

    def start(self, limit: Limit | None = None) -> list[str]:
        """Set the limit; return the words before a command that is to run on the board."""
        if self._work is None:
            self._work = Path(tempfile.mkdtemp(prefix="foreread-accuracy-", dir=_room()))
            self._undo.callback(shutil.rmtree, self._work, ignore_errors=True)
            self._make(self._work)
        script = self._work / "start"
        join = "" if limit is None else f"echo $$ >{shlex.quote(str(self._group))}/cgroup.procs\n"
        if limit is not None:
            self._set(limit)
        root = shlex.quote(str(self.root))
        script.write_text(f'#!/bin/sh\n{join}exec env HOME=/tmp chroot {root} "$@"\n')
        script.chmod(0o755)
        return [str(script)]

    def limited(self) -> list[str]:
        """Return the words before a command of this machine that the limit is to hold for."""
        join = f'echo $$ >{shlex.quote(str(self._group))}/cgroup.procs; exec "$@"'
        return ["sh", "-c", join, "sh"]

    def end(self) -> None:
        """Unmount the image, and remove image, loop device and group."""
        self._undo.close()
        self._work = None

    def _make(self, work: Path) -> None:
        tree, image = work / "tree", work / "image"
        unpack(self._packages, tree)
        self._fill(tree)
        size = int(_run("du", "-sm", "--apparent-size", tree).split()[0])
        _run("truncate", "-s", f"{size + size // 4 + _SPARE_MIB}M", image)
        _run("mkfs.ext4", "-q", "-F", "-b", "4096", "-d", tree, image)
        shutil.rmtree(tree)
        direct = ["losetup", "--direct-io=on", "--find", "--show", image]
        try:
            self.disk = Path(_run(*direct).strip()).name
        except subprocess.CalledProcessError:  # the file system below cannot
            self.disk = Path(_run("losetup", "--find", "--show", image).strip()).name
        self._undo.callback(_try, "losetup", "-d", f"/dev/{self.disk}")
        self.root.mkdir()
        self._mount("-o", "ro,noatime", f"/dev/{self.disk}", at=self.root)
        self._mount("-t", "proc", "proc", at=self.root / "proc")
        self._mount("-t", "tmpfs", "tmp", at=self.root / "tmp")

    def _mount(self, *words: str, at: Path) -> None:
        _run("mount", *words, at)
        self._undo.callback(_try, "umount", str(at))

    def _set(self, limit: Limit) -> None:
        number = Path(f"/sys/block/{self.disk}/dev").read_text().strip()
        v1 = self._group.parent == _V1
        if not v1:
            (_V2 / "cgroup.subtree_control").write_text("+io")
        if not self._group.exists():
            self._group.mkdir()
            self._undo.callback(remove_group, self._group)
        per_second = (limit.bytes_per_second, limit.requests_per_second)
        if v1:
            for name, value in zip(("bps", "iops"), per_second, strict=True):
                file = self._group / f"blkio.throttle.read_{name}_device"
                file.write_text(f"{number} {value}")
        else:
            text = f"{number} rbps={per_second[0]} riops={per_second[1]}"
            (self._group / "io.max").write_text(text)


def unpack(packages: Sequence[str], tree: Path) -> None:
    """Copy the files of installed packages, and of those that they depend on, into ``tree``."""
    for name in _MERGED:
        if Path("/", name).is_symlink():
            (tree / "usr" / name).mkdir(parents=True, exist_ok=True)
            (tree / name).symlink_to(f"usr/{name}")
    for name in ("dev", "tmp", "proc"):
        (tree / name).mkdir(parents=True, exist_ok=True)
    pack = subprocess.Popen(
        ["tar", "-C", "/", "-cf", "-", "-T", "-"], stdin=PIPE, stdout=PIPE, text=True
    )
    extract = ["tar", "-C", str(tree), "--keep-directory-symlink", "-xf", "-"]
    with pack, subprocess.Popen(extract, stdin=pack.stdout) as unpacking:
        assert pack.stdin is not None
        pack.stdin.write("\n".join(files_of(packages)))
        pack.stdin.close()
        if unpacking.wait() or pack.wait():
            raise RuntimeError("the packages' files could not be copied: see what tar said")
    for name, minor in (("null", 3), ("zero", 5), ("urandom", 9)):
        _run("mknod", "-m", "666", tree / "dev" / name, "c", 1, minor)


def _group_folder() -> Path:
    name = f"foreread-accuracy-{os.getpid()}"
    return (_V1 if (_V1 / "blkio.throttle.read_bps_device").exists() else _V2) / name


def not_root() -> str | None:
    """Return why nothing can be recorded here."""
    return None if os.geteuid() == 0 else "needs root"


def missing() -> str | None:
    """Return why no loop board can be made here."""
    if not_root():
        return not_root()
    controllers = _V2 / "cgroup.controllers"
    v2 = controllers.exists() and "io" in controllers.read_text().split()
    if not v2 and not (_V1 / "blkio.throttle.read_bps_device").exists():
        return "no blkio (v1) or io (v2) cgroup controller"
    absent = [tool for tool in ("losetup", "mkfs.ext4", "dpkg-query") if not shutil.which(tool)]
    return f"{', '.join(absent)} missing" if absent else None


def _room() -> str | None:
    """Return memory's file system if there is room: the limit alone is to set the pace."""
    memory = Path("/dev/shm")
    return str(memory) if memory.is_dir() and shutil.disk_usage(memory).free > _ROOM_BYTES else None


def _try(*words: str) -> None:
    subprocess.run(words, check=False, stderr=DEVNULL)


def remove_group(group: Path) -> None:
    """Remove a control group."""
    for _ in range(10):  # a group can go once its last process has
        with suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.2)


def _run(*words: object) -> str:
    texts = [str(word) for word in words]
    return subprocess.run(texts, check=True, stdout=PIPE, text=True).stdout
