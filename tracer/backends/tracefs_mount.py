"""The kernel's tracefs: its mount point, its events, and the remains of a dead foreread in it."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tracer.backends.base import STANDINS
from tracer.error import RecordError

PLACES = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))
NOTE = Path("/run/foreread/tracefs")  # not empty: a foreread mounted it; users lock it
PREFIX = "foreread-"


def find() -> Path | None:
    """Return the directory where tracefs is mounted, None if it is not or may not be read."""
    return next((place for place in PLACES if os.access(place / "events", os.X_OK)), None)


@contextmanager
def mounted() -> Iterator[Path]:
    """Yield tracefs' directory, mounting it for the length of the block if it is not.

    Several processes may be in such a block: the last one unmounts it. A foreread that is killed
    leaves it mounted until :func:`unmount_leftover`, or until the last one that follows ends.
    Raises RecordError without the rights, or on a kernel without tracing.
    """
    place = find()
    if place and not _is_ours():
        yield place
        return
    user = _join()
    try:
        yield PLACES[0]
    finally:
        _leave(user)


def unmount_leftover() -> list[str]:
    """Unmount the tracefs that a killed foreread mounted; return where it was."""
    if not _is_ours():
        return []
    left = find()
    _leave(os.open(NOTE, os.O_RDWR | os.O_CLOEXEC))
    return [str(left)] if left and not find() else []


def _is_ours() -> bool:
    """Return whether a foreread mounted it; the note is written before the mount."""
    try:
        return NOTE.stat().st_size > 0
    except OSError:
        return False


def _join() -> int:
    """Hold the note shared, tracefs being mounted; return its descriptor."""
    try:
        NOTE.parent.mkdir(mode=0o700, exist_ok=True)
        user = os.open(NOTE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _not_mounted(error.errno) from error
    try:
        fcntl.flock(user, fcntl.LOCK_SH)  # waits for a process that is unmounting it
        if not find():
            os.pwrite(user, b"mounted\n", 0)
            mount()
    except BaseException:
        _leave(user)
        raise
    return user


def _leave(user: int) -> None:
    """Close the note; the last one to do so unmounts tracefs.

    The kernel drops the shared lock before it tries the exclusive one, so if several leave at once,
    the last to drop the shared lock gets the exclusive one.
    """
    try:
        fcntl.flock(user, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return  # another one uses it
    else:
        unmount()
        if not os.path.ismount(PLACES[0]):
            os.truncate(user, 0)
    finally:
        os.close(user)


def mount() -> None:
    """Mount tracefs in its usual place; RecordError if that is not possible."""
    libc = ctypes.CDLL(None, use_errno=True)
    target = os.fsencode(PLACES[0])
    if libc.mount(b"nodev", target, b"tracefs", 0, None) != 0:
        code = ctypes.get_errno()
        if code != errno.EBUSY or not find():  # another foreread was faster
            raise _not_mounted(code)


def _not_mounted(code: int | None) -> RecordError:
    return RecordError(
        f"tracefs cannot be read or mounted at {PLACES[0]}: {os.strerror(code or errno.EIO)}",
        "run as root, in the initial user namespace, on a kernel with CONFIG_FTRACE",
    )


def unmount() -> None:
    """Undo :func:`mount`; a tracefs that somebody else is using by now stays."""
    ctypes.CDLL(None, use_errno=True).umount2(os.fsencode(PLACES[0]), 0)


def available(tracefs: Path, events: tuple[str, ...] | list[str]) -> tuple[list[str], list[str]]:
    """Split "system:name" events into those that this kernel has and those it lacks.

    The replacement of a missing event is listed among those that it has.
    """
    missing = [event for event in events if not _has(tracefs, event)]
    standins = [STANDINS[event] for event in missing if event in STANDINS]
    present = [event for event in events if event not in missing]
    return present + [event for event in standins if _has(tracefs, event)], missing


def _has(tracefs: Path, event: str) -> bool:
    return (tracefs / "events" / event.replace(":", "/")).is_dir()


def owner_tag() -> str:
    """Return "PID-STARTTIME" of this process: it names an owner beyond reuse of the pid."""
    return f"{os.getpid()}-{start_time(os.getpid())}"


def is_alive(tag: str) -> bool:
    """Return whether the process that :func:`owner_tag` named still runs."""
    pid, _, started = tag.partition("-")
    return pid.isdecimal() and started.isdecimal() and int(started) == start_time(int(pid))


def start_time(pid: int) -> int | None:
    """Return when the process started, in clock ticks since boot (proc(5), field 22)."""
    try:
        line = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    return int(line.rpartition(b")")[2].split()[19])


def remove_leftovers(tracefs: Path) -> list[str]:
    """Remove instances and event probes whose foreread is dead; return their names."""
    return [*_remove_instances(tracefs), *_remove_probes(tracefs)]


def _remove_instances(tracefs: Path) -> list[str]:
    removed = []
    for instance in sorted((tracefs / "instances").glob(f"{PREFIX}*")):
        tag = "-".join(instance.name.removeprefix(PREFIX).split("-")[:2])
        if not is_alive(tag):
            try:
                instance.rmdir()
            except OSError:
                continue  # somebody has a file of it open: the next start removes it
            removed.append(instance.name)
    return removed


def probe_group(tag: str) -> str:
    """Return the group of the event probes that the process ``tag`` defines."""
    return PREFIX.replace("-", "_") + tag.replace("-", "_")


def _remove_probes(tracefs: Path) -> list[str]:
    prefix = PREFIX.replace("-", "_")
    removed = []
    for group in _probe_groups(tracefs):
        tag = group.removeprefix(prefix).replace("_", "-")
        if group.startswith(prefix) and not is_alive(tag):
            remove_probe(tracefs, group)
            removed.append(group)
    return removed


def remove_probe(tracefs: Path, group: str) -> None:
    """Remove all dynamic events of ``group``; they must be disabled."""
    change_probes(tracefs, f"-:{group}/")


def change_probes(tracefs: Path, line: str) -> None:
    """Add or remove dynamic events; OSError if the kernel refuses it."""
    # Not open("a"): Python seeks to the end, which this file refuses. No O_TRUNC: it removes all.
    file = os.open(tracefs / "dynamic_events", os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    try:
        os.write(file, f"{line}\n".encode())
    finally:
        os.close(file)


def _probe_groups(tracefs: Path) -> list[str]:
    try:
        lines = (tracefs / "dynamic_events").read_text(errors="replace").splitlines()
    except OSError:
        return []
    names = [line.partition(":")[2].partition("/")[0] for line in lines]
    return list(dict.fromkeys(names))
