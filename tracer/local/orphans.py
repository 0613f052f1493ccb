"""Processes that outlive a killed foreread: the command, background loads, recorders, ssh.

They have their owner's tag in their environment (boards.base.owner.MARK). Only processes in the
same pid namespace are looked at: in another one, a tag names another process.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from foreread.boards.base.owner import MARK, is_alive, start_time

_GRACE_S = 5.0
_KILLED_S = 2.0
_KEY = f"{MARK}=".encode()


def orphans() -> set[int]:
    """Return the processes whose owner is dead."""
    found = set()
    for directory in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            tag = _tag(directory)
            pid = int(directory.name)
            own = pid == os.getpid() or start_time(pid) is None
            if tag and not own and not is_alive(tag) and _is_near(directory):
                found.add(pid)
    return found


def end_orphans(grace_s: float = _GRACE_S) -> list[str]:
    """End them, by SIGTERM and after ``grace_s`` by SIGKILL; return "PID (NAME)" of each."""
    ended: dict[int, str] = {}
    for number, patience_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, _KILLED_S)):
        signalled: set[int] = set()
        deadline = time.monotonic() + patience_s
        while (left := orphans()) and time.monotonic() < deadline:
            for pid in left - signalled:  # some may be forked meanwhile
                ended.setdefault(pid, _name(pid))
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
            signalled |= left
            time.sleep(0.02)
    return [f"{pid} ({name})" for pid, name in ended.items()]


def _tag(directory: Path) -> str:
    """Return the tag in the initial environment of a process, empty without one."""
    for variable in (directory / "environ").read_bytes().split(b"\0"):
        if variable.startswith(_KEY):
            tag = variable.removeprefix(_KEY).decode("ascii")
            pid, _, started = tag.partition("-")
            return tag if pid.isdecimal() and started.isdecimal() else ""
    return ""


def _is_near(directory: Path) -> bool:
    return (directory / "ns/pid").readlink() == Path("/proc/self/ns/pid").readlink()


def _name(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    return "?"
