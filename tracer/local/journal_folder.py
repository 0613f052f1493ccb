"""The folder of the journals: root's alone, with the lock of the machine's settings."""

from __future__ import annotations

import fcntl
import os
import re
import stat
import time
from pathlib import Path

from foreread.boards.base.guard import is_guard
from foreread.tracer.error import RecordError

DIRECTORY = Path("/run/foreread")
_LOCK = "lock"
_TAG = re.compile(r"\d+-\d+")  # as boards.base.owner makes it
_GUARD_S = 10.0  # what a guard needs at most


def make_directory(directory: Path) -> None:
    """Make the folder if it is not there; RecordError unless it is only this user's."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise no_journal(directory, error) from error
    check_directory(directory)


def check_directory(directory: Path) -> None:
    """Raise RecordError unless the folder is one that only this user can write to."""
    status = directory.lstat()
    if status.st_uid == 0 != os.geteuid():
        raise RecordError(
            f"{directory} belongs to root: only root can change these settings", "run as root"
        )
    mine = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    if not mine or status.st_mode & 0o022:
        raise RecordError(
            f"{directory} is not a directory that only this user can write to",
            f"check its content, then remove it: rm -r {directory}",
        )


def make_lock(directory: Path = DIRECTORY) -> None:
    """Make the lock's file if it is not there: a job on this machine as a target takes it, too.

    Raises RecordError as ``make_directory``.
    """
    make_directory(directory)
    os.close(_open_lock(directory))


def _open_lock(directory: Path) -> int:
    return os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def acquire(directory: Path, wait_s: float) -> int:
    """Return the locked lock file, or raise RecordError naming who holds it.

    A guard, which restores what a killed foreread left, is waited for in any case.
    """
    lock = _open_lock(directory)
    now = time.monotonic()
    deadline, guards = now + wait_s, now + max(wait_s, _GUARD_S)
    while not _try_lock(lock):
        holder = os.pread(lock, 20, 0).decode(errors="replace").strip()
        restoring = holder.isdecimal() and is_guard(int(holder))
        if time.monotonic() >= (guards if restoring else deadline):
            os.close(lock)
            raise RecordError(
                f"another foreread (pid {holder}) holds the settings of this machine",
                "wait until it has finished, or add --wait SECONDS",
            )
        time.sleep(0.1)
    os.truncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    return lock


def _try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def journal_folders(directory: Path) -> list[Path]:
    """Return the folders of journals, whose names are the tags of their owners."""
    folders = [path for path in directory.glob("*") if _TAG.fullmatch(path.name) and path.is_dir()]
    return sorted(folders)


def boot_id() -> str:
    """Return what names this boot of the kernel."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def no_journal(directory: Path, error: OSError) -> RecordError:
    """Return the error for a journal that cannot be written, with the remedy."""
    remedy = (
        "run it as root"
        if isinstance(error, PermissionError)
        else f"free some space in {directory}"
    )
    return RecordError(f"cannot write a journal in {directory}: {error.strerror}", remedy)
