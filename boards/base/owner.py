"""The owner of everything that foreread creates outside its output: a process and its start time.

Names of folders, trace instances, probes and mounts contain the owner's tag, and processes that
foreread starts have it in their environment. So the leftovers of a dead foreread are identified by
name, without a list that a crash could cut short.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

PREFIX = "foreread-"
# Also on targets, with the name of the job there as the value (held.sh).
MARK = "FOREREAD_JOB"
_INITIAL = "pid:[4026531836]"  # PROC_PID_INIT_INO, include/linux/proc_ns.h
_NAME = re.compile(rf"{PREFIX}(?:[a-z]+-)*(\d+-\d+)(?:-\w+)?")


def owner_tag() -> str:
    """Return "PID-STARTTIME" of this process."""
    return f"{os.getpid()}-{start_time(os.getpid())}"


def tag_in(name: str) -> str | None:
    """Return the owner's tag in the name of something that foreread created; None without one."""
    match = _NAME.fullmatch(name)
    return match[1] if match else None


def is_alive(tag: str) -> bool:
    """Return whether the process that :func:`owner_tag` named still runs."""
    pid, _, started = tag.partition("-")
    return pid.isdecimal() and started.isdecimal() and int(started) == start_time(int(pid))


def may_live_elsewhere(tag: str) -> bool:
    """Return whether the process ``tag`` may live in another PID namespace, as in a container.

    It has another number here, or none: what all namespaces share, like trace instances, is not
    left over. A process in such a namespace does not see those outside, and cannot tell.
    """
    try:
        if str(Path("/proc/self/ns/pid").readlink()) != _INITIAL:
            return True
    except OSError:  # Linux before 3.8, or without namespaces
        return False
    pid, _, started = tag.partition("-")
    inner = re.compile(rf"^NSpid:.*\t{re.escape(pid)}$", re.MULTILINE)
    return any(
        str(start_time(int(folder.name))) == started and inner.search(_status(folder))
        for folder in Path("/proc").glob("[0-9]*")
    )


def _status(folder: Path) -> str:
    try:
        return (folder / "status").read_text()
    except OSError:
        return ""


def is_gone(tag: str) -> bool:
    """Return whether the process ``tag`` lives in no PID namespace: for what all of them share."""
    return not is_alive(tag) and not may_live_elsewhere(tag)


def is_left(name: str) -> bool:
    """Return whether the name is foreread's, and the owner in it is dead."""
    tag = tag_in(name)
    return tag is not None and not is_alive(tag)


def start_time(pid: int) -> int | None:
    """Return the start time of a process in clock ticks since boot (proc(5), field 22).

    None if the process has ended, also while its parent has not waited for it.
    """
    try:
        line = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    words = line.rpartition(b")")[2].split()
    return None if words[0] in (b"Z", b"X") else int(words[19])


def marked() -> dict[str, str]:
    """Return this process's environment with its own mark, for a process that it starts."""
    return {**os.environ, MARK: owner_tag()}
