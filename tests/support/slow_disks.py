"""A disk of known cost and a process that reads it, for tests of watched workloads."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from limited_disks import limiting_group
from loop_devices import attached
from machine_lock import nobody_records
from waiting import wait_until
from watched_disks import Disk

from foreread.boards.target import LocalTarget

DISK_MIB = 256
# Start a program in a group, and where /proc has that program alone. To a foreread elsewhere, what
# is there of a job would look like that of a dead process: it has a /run of its own.
ALONE = """
echo $$ >"$1/cgroup.procs" && shift
exec unshare --pid --fork --mount-proc --kill-child -- \\
    sh -c 'mount -t tmpfs none /run && exec "$@"' sh "$@"
"""
# Reads the disk through the page cache, which it leaves as it found it: all of it, or pieces of
# 128 KiB that are 8 MiB apart, after each of which readahead is of no use. A file takes the window
# when it is opened (file_ra_state_init, mm/readahead.c).
READER = """
import os, sys
path, mode, mib = sys.argv[1], sys.argv[2], int(sys.argv[3])
print("begun", flush=True)
at = 0
while True:
    disk = os.open(path, os.O_RDONLY)
    in_pieces = open(mode).read() == "pieces"
    os.posix_fadvise(disk, 0, 0, os.POSIX_FADV_DONTNEED)
    for offset in range(at, at + (128 << 10 if in_pieces else 8 << 20), 4096):
        os.pread(disk, 4096, offset)
    os.close(disk)
    at = (at + (8 << 20)) % (mib << 20)
"""


class BesideTarget(LocalTarget):
    """This machine, with commands and files in the namespaces that an unshare(1) has made."""

    def __init__(self, pid: int) -> None:
        super().__init__(Path(f"/proc/{pid}/root"))
        spaces = f"/proc/{pid}/ns"
        self._enter = ["nsenter", f"--mount={spaces}/mnt", f"--pid={spaces}/pid_for_children"]

    def run(self, command, **options):
        return super().run([*self._enter, *command], **options)


@dataclass(frozen=True)
class SlowDisk:
    """A loop device on another one, whose reads are limited.

    The file ``mode`` says what its reader reads: all or pieces. ``target`` is this machine where
    /proc has the reader alone: a watcher there counts no bytes of others.
    """

    disk: Disk
    mode: Path
    target: LocalTarget


@contextmanager
def slow_disk(directory, window_kb, requests, size):
    """Read a disk of so many requests and bytes a second, first all of it.

    No other foreread changes settings meanwhile.
    """
    image = directory / "slow"
    with image.open("wb") as file:
        for _ in range(DISK_MIB):
            file.write(b"x" * (1 << 20))
    mode = directory / "mode"
    mode.write_text("all")
    with (
        attached(image) as lower,
        attached(f"/dev/{lower}", "--direct-io=on") as upper,
        limiting_group(lower, requests, size) as group,
        nobody_records(),
    ):
        disk = Disk(upper)
        disk.knob.write_text(str(window_kb))
        words = [sys.executable, "-c", READER, f"/dev/{upper}", mode, str(DISK_MIB)]
        words = ["sh", "-c", ALONE, "sh", group, *words]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as reader:
            try:
                assert reader.stdout.readline() == b"begun\n"
                yield SlowDisk(disk, mode, BesideTarget(reader.pid))
            finally:
                reader.kill()
                wait_until(lambda: not (group / "cgroup.procs").read_text())
