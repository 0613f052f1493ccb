"""A slow disk to tune: an ext4 image on a loop device, reads and writes limited by a cgroup."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_V1 = Path("/sys/fs/cgroup/blkio")
_V2 = Path("/sys/fs/cgroup")
_SPARE_MIB = 64


@dataclass(frozen=True)
class LoopDisk:
    """The mounted disk; ``joining`` are the words before a command that is to be limited."""

    name: str
    folder: Path
    joining: list[str]


@contextmanager
def loop_disk(mib: int, bytes_per_second: int, requests_per_second: int) -> Iterator[LoopDisk]:
    """Make a disk with room for ``mib`` MiB; all of it is removed at the end."""
    with ExitStack() as undo:
        # On a real file system where the disk is to have direct I/O; tmpfs has none.
        work = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="foreread-study-")))
        image, folder = work / "image", work / "mnt"
        _run("truncate", "-s", f"{mib + mib // 8 + _SPARE_MIB}M", image)
        _run("mkfs.ext4", "-q", "-F", image)
        device = _run("losetup", "--find", "--show", "--direct-io=on", image)
        undo.callback(_run, "losetup", "--detach", device)
        folder.mkdir()
        _run("mount", "-o", "noatime", device, folder)
        undo.callback(_run, "umount", folder)
        name = Path(device).name
        group = undo.enter_context(_limited(name, bytes_per_second, requests_per_second))
        join = 'echo $$ >"$0/cgroup.procs"; exec "$@"'
        yield LoopDisk(name, folder, ["sh", "-c", join, str(group)])


@contextmanager
def _limited(name: str, bytes_per_second: int, requests_per_second: int) -> Iterator[Path]:
    number = Path(f"/sys/block/{name}/dev").read_text().strip()
    v1 = (_V1 / "blkio.throttle.read_bps_device").exists()
    group = (_V1 if v1 else _V2) / f"foreread-study-{os.getpid()}"
    if not v1:
        (_V2 / "cgroup.subtree_control").write_text("+io")
    group.mkdir()
    try:
        if v1:
            for verb in ("read", "write"):
                rates = {"bps": bytes_per_second, "iops": requests_per_second}
                for unit, rate in rates.items():
                    file = group / f"blkio.throttle.{verb}_{unit}_device"
                    file.write_text(f"{number} {rate}")
        else:
            bps, iops = bytes_per_second, requests_per_second
            limits = f"rbps={bps} wbps={bps} riops={iops} wiops={iops}"
            (group / "io.max").write_text(f"{number} {limits}")
        yield group
    finally:
        for _ in range(50):  # it can go once its last process has
            with suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.2)


def _run(*words: object) -> str:
    texts = [str(word) for word in words]
    done = subprocess.run(texts, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()
