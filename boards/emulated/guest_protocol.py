"""The messages to the guest (a job) and from it (a result)."""

from __future__ import annotations

import os
import shlex
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from foreread.boards import disks
from foreread.boards.emulated.error import BoardError
from foreread.boards.emulated.image import on_disk

# Enough for stdout and stderr, which the guest keeps in a tmpfs of 16 MiB; here a sparse file.
RESULT_BYTES = 64 << 20
_COMMAND_NOT_FOUND = 127


@dataclass(frozen=True)
class RunPlan:
    """The job of a board: ``latency_ns`` and ``ns_per_kib`` are the cost of a "fixed" disk."""

    command: Sequence[str]
    windows_kb: tuple[int, ...] = (128,)
    repeat: int = 1
    disk: str = disks.FIXED
    latency_ns: int = 1_000_000
    ns_per_kib: int = 50_000
    fs: str = "ext4"
    memory_mib: int = 256
    time_out_s: float = 300.0


@dataclass(frozen=True)
class TimedRun:
    """One cold run: guest wall time, and the I/O that the slow disk served during it."""

    read_ahead_kb: int
    status: int
    guest_ns: int
    requests: int
    read_kib: int


@dataclass(frozen=True)
class Result:
    """All runs, and the output of the last one."""

    runs: list[TimedRun]
    stdout: bytes
    stderr: bytes


def settings(plan: RunPlan) -> bytes:
    """Return the guest's settings, a shell script of assignments."""
    values = {
        "WINDOWS": " ".join(map(str, plan.windows_kb)),
        "REPEAT": plan.repeat,
        "LATENCY_NS": plan.latency_ns,
        "NS_PER_KIB": plan.ns_per_kib,
        **disks.kind(plan.disk).settings(),
        "FS": on_disk(plan.fs),
        "OVERLAY": "yes" if plan.fs.startswith("overlay-") else "",
    }
    return assignments(values)


def assignments(values: Mapping[str, object]) -> bytes:
    """Return a shell script that assigns values to variables."""
    return "".join(f"{k}={shlex.quote(str(v))}\n" for k, v in values.items()).encode()


def command_script(command: Sequence[str]) -> bytes:
    """Return a shell script that executes the command in the application's root."""
    path = "PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/games HOME=/tmp"
    return os.fsencode(f"{path} exec /bin/chroot /app {shlex.join(command)}\n")


def read_result(disk: Path, command: str) -> Result | None:
    """Return the guest's output, None if the guest did not finish.

    Raises BoardError for an error that the guest reports.
    """
    archive = members(disk)
    if "end" not in archive:
        return None
    if "failed" in archive:
        reason = archive["failed"].decode(errors="replace").strip()
        raise BoardError(f"the guest failed: {reason}", "try more memory (--memory-mib)")
    runs = [_timed_run(line) for line in archive["runs"].decode().splitlines()]
    result = Result(runs, archive["stdout"], archive["stderr"])
    if runs[-1].status == _COMMAND_NOT_FOUND and b"chroot: can't execute" in result.stderr:
        raise BoardError(
            f"the guest has no command {command!r}",
            "name the Debian package that has it with --package",
        )
    return result


def _timed_run(line: str) -> TimedRun:
    window, status, begin, end, requests, sectors = map(int, line.split())
    return TimedRun(window, status, end - begin, requests, sectors // 2)


def members(disk: Path) -> dict[str, bytes]:
    """Return the regular files of the archive; an empty dict if it is damaged or absent."""
    try:
        with tarfile.open(disk, "r:") as archive:
            files = {member.name.removeprefix("./"): member for member in archive if member.isreg()}
            read = {name: archive.extractfile(member) for name, member in files.items()}
            return {name: data.read() for name, data in read.items() if data}
    except tarfile.TarError:
        return {}
