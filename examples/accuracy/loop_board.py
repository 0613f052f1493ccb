"""A loop board: Debian packages in an image, on a loop device whose reads a cgroup limits."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_V1 = Path("/sys/fs/cgroup/blkio")
_V2 = Path("/sys/fs/cgroup")
_SPARE_MIB = 64
# Debian's own merge of /usr; packages list paths on either side of it.
_MERGED = ("bin", "sbin", "lib", "lib64", "lib32")
_SETTINGS = ("etc/ld.so.cache", "etc/alternatives", "etc/passwd")
_CLOSURE = ["apt-cache", "depends", "--recurse", "--installed", "--important"]


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
        file.write_text(f'kind = "paced"\n{pace}')
        return file


class LoopBoard:
    """The board, made when it is first used; ``end`` removes all of it."""

    def __init__(self, packages: tuple[str, ...]) -> None:
        self._packages = packages
        self._work: Path | None = None
        self.disk = ""  # name of the loop device
        self._group = _group_folder()

    def start(self, limit: Limit) -> list[str]:
        """Set the limit; return the words before a command that is to run on the board."""
        if self._work is None:
            self._work = Path(tempfile.mkdtemp(prefix="foreread-accuracy-", dir=_room()))
            self._make(self._work)
        self._set(limit)
        script = self._work / "start"
        script.write_text(
            f"#!/bin/sh\necho $$ >{shlex.quote(str(self._group))}/cgroup.procs\n"
            f'exec chroot {shlex.quote(str(self._work / "mnt"))} "$@"\n'
        )
        script.chmod(0o755)
        return [str(script)]

    def end(self) -> None:
        """Unmount the image, and remove image, loop device and group."""
        if self._work is None:
            return
        for words in (["umount", str(self._work / "mnt")], ["losetup", "-d", f"/dev/{self.disk}"]):
            subprocess.run(words, check=False, stderr=subprocess.DEVNULL)
        for _ in range(10):  # a group can go once its last process has
            with suppress(OSError):
                self._group.rmdir()
                break
            time.sleep(0.2)
        shutil.rmtree(self._work, ignore_errors=True)
        self._work = None

    def _make(self, work: Path) -> None:
        tree, image, mnt = work / "tree", work / "image", work / "mnt"
        unpack(self._packages, tree)
        (tree / "a.c").write_text("#include <stdio.h>\nint main(void) { return 0; }\n")
        size = int(_run("du", "-sm", "--apparent-size", tree).split()[0])
        _run("truncate", "-s", f"{size + size // 4 + _SPARE_MIB}M", image)
        _run("mkfs.ext4", "-q", "-F", "-b", "4096", "-d", tree, image)
        shutil.rmtree(tree)
        direct = ["losetup", "--direct-io=on", "--find", "--show", image]
        try:
            self.disk = Path(_run(*direct).strip()).name
        except subprocess.CalledProcessError:  # the file system below cannot
            self.disk = Path(_run("losetup", "--find", "--show", image).strip()).name
        mnt.mkdir()
        _run("mount", "-o", "ro,noatime", f"/dev/{self.disk}", mnt)

    def _set(self, limit: Limit) -> None:
        number = Path(f"/sys/block/{self.disk}/dev").read_text().strip()
        v1 = self._group.parent == _V1
        if not v1:
            (_V2 / "cgroup.subtree_control").write_text("+io")
        self._group.mkdir(exist_ok=True)
        per_second = (limit.bytes_per_second, limit.requests_per_second)
        if v1:
            for name, value in zip(("bps", "iops"), per_second, strict=True):
                file = self._group / f"blkio.throttle.read_{name}_device"
                file.write_text(f"{number} {value}")
        else:
            text = f"{number} rbps={per_second[0]} riops={per_second[1]}"
            (self._group / "io.max").write_text(text)


def unpack(packages: tuple[str, ...], tree: Path) -> None:
    """Copy the files of installed packages, and of those that they depend on, into ``tree``."""
    for name in _MERGED:
        if Path("/", name).is_symlink():
            (tree / "usr" / name).mkdir(parents=True, exist_ok=True)
            (tree / name).symlink_to(f"usr/{name}")
    for name in ("dev", "tmp", "proc"):
        (tree / name).mkdir(parents=True, exist_ok=True)
    lines = _run(*_CLOSURE, *packages).splitlines()
    names = sorted({line for line in lines if line and not line.startswith((" ", "<"))})
    listed = {path.lstrip("/") for path in _run("dpkg", "-L", *names).splitlines()}
    # A folder comes with what is in it; of links into other packages the target comes, too.
    files = [path for path in listed if path.startswith(("usr/", "lib", "bin/", "sbin/"))]
    wanted = [path for path in files if os.path.lexists(f"/{path}") and not _is_folder(path)]
    wanted += [path for path in _SETTINGS if Path("/", path).exists()]
    archive = subprocess.run(
        ["tar", "-C", "/", "-cf", "-", "-T", "-"],
        input="\n".join(sorted(wanted)).encode(),
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    extract = ["tar", "-C", str(tree), "--keep-directory-symlink", "-xf", "-"]
    subprocess.run(extract, input=archive, check=True)
    _run("mknod", "-m", "666", tree / "dev/null", "c", 1, 3)


def _is_folder(path: str) -> bool:
    return Path("/", path).is_dir() and not Path("/", path).is_symlink()


def _group_folder() -> Path:
    name = f"foreread-accuracy-{os.getpid()}"
    return (_V1 if (_V1 / "blkio.throttle.read_bps_device").exists() else _V2) / name


def missing() -> str | None:
    """Return why no loop board can be made here."""
    if os.geteuid() != 0:
        return "needs root"
    controllers = _V2 / "cgroup.controllers"
    v2 = controllers.exists() and "io" in controllers.read_text().split()
    if not v2 and not (_V1 / "blkio.throttle.read_bps_device").exists():
        return "no blkio (v1) or io (v2) cgroup controller"
    absent = [tool for tool in ("losetup", "mkfs.ext4", "apt-cache") if not shutil.which(tool)]
    return f"{', '.join(absent)} missing" if absent else None


def _room() -> str | None:
    """Return memory's file system if there is room: the limit alone is to set the pace."""
    memory = Path("/dev/shm")
    return str(memory) if memory.is_dir() and shutil.disk_usage(memory).free > 3 << 30 else None


def _run(*words: object) -> str:
    texts = [str(word) for word in words]
    return subprocess.run(texts, check=True, stdout=subprocess.PIPE, text=True).stdout
