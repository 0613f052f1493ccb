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
_EXECUTES_S = 0.1  # how long processes are looked at that execute a program just then
_KILLED_S = 2.0
_KEY = f"{MARK}=".encode()


def orphans() -> set[int]:
    """Return the processes of dead owners.

    While a process executes a program, its environment reads as empty: it is looked at again.
    """
    left, looked_at = set(), list(Path("/proc").glob("[0-9]*"))
    deadline: float | None = None
    while looked_at:
        unsure = []
        for directory in looked_at:
            with suppress(OSError, ValueError):
                (directory / "exe").readlink()  # kernel threads and zombies have none
                tag = _tag(directory)
                if tag is None:
                    unsure.append(directory)
                elif tag and _is_left(directory, tag):
                    left.add(int(directory.name))
        now = time.monotonic()
        deadline = now + _EXECUTES_S if deadline is None else deadline  # the first look may be slow
        if now > deadline:
            break
        looked_at = unsure
        time.sleep(0.02 if unsure else 0.0)
    return left


def _is_left(directory: Path, tag: str) -> bool:
    pid = int(directory.name)
    if pid == os.getpid() or start_time(pid) is None:
        return False
    return not is_alive(tag) and _is_near(directory)


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


def _tag(directory: Path) -> str | None:
    """Return the tag in the initial environment of a process, empty without one.

    None: the environment is empty, perhaps for the moment.
    """
    variables = (directory / "environ").read_bytes()
    if not variables:
        return None
    for variable in variables.split(b"\0"):
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
