"""The state of a running board: a folder, and the identity of its process.

A process id alone may be reused: the start time and this machine's boot id are stored with it. The
process that becomes QEMU writes them first, so that every QEMU can be identified.
"""

from __future__ import annotations

import fcntl
import os
import select
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from foreread.boards.emulated.error import BoardError

PROCESS = "process"
_LOCK = ".lock"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_KILL_AFTER_S = 5
_LINES = 2  # of PROCESS
_RECORD = f'cat /proc/$$/stat {_BOOT_ID} >"$0" && exec "$@"'


def default_states() -> Path:
    """Return the folder of the started boards by the XDG base directory rules."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "foreread" / "boards"


class TakenError(BoardError):
    """A board of that name is already running."""


def check_free(folder: Path) -> None:
    """Raise TakenError if the board of that folder runs."""
    if runs(folder):
        raise TakenError(
            f"a board called {folder.name} runs already",
            f"use it, stop it with `foreread boards stop {folder.name}`, or give another --name",
        )


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Create the folder of a board; its process begins within the block.

    Raises TakenError if a board runs there already; the files of an ended board are removed.
    """
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder.parent / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        check_free(folder)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        yield


def folders(states: Path) -> list[Path]:
    """Return the folders of the running boards, sorted."""
    return sorted(path for path in states.glob("*/") if runs(path))


def ended(states: Path) -> list[Path]:
    """Return the folders of boards that ended without being stopped, sorted."""
    return sorted(path for path in states.glob("*/") if _began(path) and not runs(path))


def _began(folder: Path) -> bool:
    """Return whether the folder has the complete record of a board's process."""
    try:
        return (folder / PROCESS).read_text().count("\n") == _LINES
    except OSError:
        return False


def recorded(folder: Path, words: list[str]) -> list[str]:
    """Return the words of a program that stores its process id and then executes ``words``."""
    return ["sh", "-c", _RECORD, str(folder / PROCESS), *words]


def runs(folder: Path) -> bool:
    """Return whether the process of a board's folder still runs."""
    held = _hold(folder)
    if held is not None:
        os.close(held)
    return held is not None


def end(folder: Path) -> None:
    """End the process of a board's folder, if it still runs, and wait for its end."""
    held = _hold(folder)
    if held is None:
        return
    try:
        # A stuck QEMU ignores SIGTERM.
        for number in (signal.SIGTERM, signal.SIGKILL):
            signal.pidfd_send_signal(held, number)
            if select.select([held], [], [], _KILL_AFTER_S)[0]:
                return
    except ProcessLookupError:
        pass
    finally:
        os.close(held)


def _hold(folder: Path) -> int | None:
    """Return a pidfd, which always refers to the same process; None if the process is gone."""
    try:
        written = (folder / PROCESS).read_text()
        pid = int(written.split()[0])
        held = os.pidfd_open(pid)
    except (OSError, ValueError, IndexError, OverflowError):
        return None
    now = _identity(pid)
    if now is not None and now == _same(written):
        return held
    os.close(held)
    return None


def _identity(pid: int) -> tuple[str, str] | None:
    try:
        return _same(Path(f"/proc/{pid}/stat").read_text() + _BOOT_ID.read_text())
    except OSError:
        return None


def _same(text: str) -> tuple[str, str] | None:
    """Return start time (proc(5), field 22) and boot, None for a process that has ended."""
    stat, _, boot = text.strip().rpartition("\n")
    fields = stat.rpartition(")")[2].split()
    if len(fields) < 20 or fields[0] in "ZX":
        return None
    return fields[19], boot
