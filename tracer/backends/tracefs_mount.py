"""The kernel's tracefs: its mount point, its events, and the remains of a dead foreread in it.

The source of a mount that foreread makes is the tag of its owner (boards.base.owner), so that it is
not mistaken for the system's own, nor for one in another mount namespace. Every user of such a
mount, the one that mounts it included, keeps a note in ``/run/foreread`` that is written before.
The last user unmounts it; the guard, the next foreread or ``foreread doctor --restore`` if all were
killed.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from foreread.boards.base.guard import guarded
from foreread.boards.base.owner import PREFIX, is_gone, owner_tag, tag_in
from foreread.boards.base.owner import is_left as is_dead
from foreread.boards.mounts import read_mounts
from foreread.tracer.backends.base import STANDINS
from foreread.tracer.error import RecordError

PLACES = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))
NOTES = Path("/run/foreread")
_NOTE = ".mount"
TAINTED = Path("/proc/sys/kernel/tainted")
_CRASHED = 1 << 7  # TAINT_DIE
_HANGS = "tracing-hangs"  # a note of the boot during which it did
_ANSWER_S = 10.0
_UMOUNT_NOFOLLOW = 8
_ATTEMPTS = 5  # another foreread may mount or unmount it at the same time
_INSTANCES_S = 5.0
_BUSY_S = 0.3  # others look into a file system for a moment only
_held: list[int] = []  # what keeps it mounted: a descriptor for each block of this process


def find() -> Path | None:
    """Return the directory where tracefs is mounted, None if it is not or may not be read.

    Looking into debugfs would mount tracefs there for good: kernels since 4.1 do that.
    """
    usual, older = PLACES[0], PLACES[1:]
    places = (usual, *(place for place in older if not usual.is_dir() or os.path.ismount(place)))
    return next((place for place in places if os.access(place / "events", os.X_OK)), None)


@contextmanager
def mounted() -> Iterator[Path]:
    """Yield tracefs' directory, mounting it for the length of the block if it is not.

    Several processes may be in such a block: the last one unmounts it. If it is killed, its guard
    does (boards.base.guard), or :func:`unmount_leftover`. Raises RecordError without the rights, on
    a kernel without tracing, or on one whose tracing hangs.
    """
    place = find()
    if place and not _is_ours():
        check_answers(place)
        yield place
        return
    with guarded():
        held = _join()
        _held.append(held)
        try:
            check_answers(PLACES[0])
            yield PLACES[0]
        finally:
            _held.remove(held)
            _leave(held)


@contextmanager
def visible_to_restore() -> Iterator[Path | None]:
    """Yield tracefs' directory, kept mounted for the length of the block; None without leftovers.

    A job on this machine that ends unmounts what a dead foreread had mounted. The notes of dead
    users tell that there may be trace instances of theirs: it is mounted anew then. Also None where
    tracing hangs.
    """
    found = find()
    with ExitStack() as stack:
        place = None
        with suppress(OSError, RecordError):
            if found and not _is_ours():
                check_answers(found)
                place = found
            elif found or any(note.here and not note.lives for note in _notes()):
                stack.callback(os.close, _open_mounted())
                check_answers(PLACES[0])
                place = PLACES[0]
        yield place


def unmount_leftover() -> list[tuple[str, str]]:
    """Unmount the tracefs that a killed foreread mounted; remove the notes of dead users.

    Returns each place with why it is still mounted, empty if it is not. It stays while others use
    it: another foreread unmounts it then, other programs are named.
    """
    done = []
    notes = [note for note in _notes() if not note.lives]
    if _is_ours() and not _living_users():
        by_job = tag_in(source()) is None  # a job on this machine as a target unmounts it itself
        if _unmount(_BUSY_S if by_job else 10 * _BUSY_S):
            done.append((str(PLACES[0]), ""))
        elif not by_job:
            done.append((str(PLACES[0]), _in_use()))
    for note in notes:
        if not note.here and (process := note.process_there()):
            command = f"nsenter -t {process} -m umount {PLACES[0]}"
            done.append((str(PLACES[0]), f"mounted in another mount namespace: {command}"))
        elif not note.here or not _is_ours():
            note.path.unlink(missing_ok=True)
    return done


def is_leftover() -> bool:
    """Return whether a killed foreread left it mounted."""
    return tag_in(source()) is not None and not _living_users()


def _join() -> int:
    """Note the use of it, mount it if it is not, and return a descriptor that keeps it mounted."""
    try:
        _write_note()
        return _open_mounted()
    except (OSError, RecordError) as error:
        if not _held:
            with suppress(OSError):
                _note().unlink()
        raise error if isinstance(error, RecordError) else _not_mounted(error.errno) from error


def _open_mounted() -> int:
    """Mount it if it is not, and return a descriptor that keeps it mounted."""
    for _ in range(_ATTEMPTS):
        if not find():
            mount(PREFIX + owner_tag())
        # The last user may unmount it just before it is opened.
        held = os.open(PLACES[0], os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if os.access("events", os.X_OK, dir_fd=held):
            return held
        os.close(held)
    raise OSError(errno.EBUSY, "")


def _leave(held: int) -> None:
    """End the use of it; the last user unmounts it, unless it shows a dead foreread's instance.

    If several leave at once, each of them tries it after it has closed its descriptor.
    """
    os.close(held)
    if _held:
        return
    _note().unlink(missing_ok=True)
    if is_leftover() and not (_shows_nothing() and _unmount(_BUSY_S)):
        _write_note()  # that it is ours to unmount stays noted


def _shows_nothing() -> bool:
    """Remove instances of dead forereads that were busy before; return whether none is left."""
    _remove_instances(PLACES[0], patience_s=0.0)
    return not left_instances(PLACES[0])


def _write_note() -> None:
    """Note on disk, before it happens, that this process uses or mounts tracefs."""
    NOTES.mkdir(mode=0o700, exist_ok=True)
    text = json.dumps({"boot": _boot(), "namespace": _namespace()})
    note = os.open(_note(), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(note, text.encode())
    finally:
        os.close(note)


def _note() -> Path:
    return NOTES / f"{PREFIX}{owner_tag()}{_NOTE}"


@dataclass(frozen=True)
class _Note:
    """The note of one user; a torn one is taken for one of this boot and mount namespace."""

    path: Path
    boot: str
    namespace: str

    @property
    def lives(self) -> bool:
        return self.boot == _boot() and not is_dead(self.path.stem)

    @property
    def here(self) -> bool:
        return self.boot == _boot() and self.namespace == _namespace()

    def process_there(self) -> int | None:
        """Return a process in its mount namespace; None if that is gone with its mounts."""
        for link in Path("/proc").glob("[0-9]*/ns/mnt") if self.boot == _boot() else ():
            with suppress(OSError):
                if str(link.readlink()) == self.namespace:
                    return int(link.parts[2])
        return None


def _notes() -> list[_Note]:
    notes = []
    for path in sorted(NOTES.glob(f"*{_NOTE}")):
        fields = {}
        with suppress(OSError, ValueError):
            fields = json.loads(path.read_text())
        fields = fields if isinstance(fields, dict) else {}
        namespace = fields.get("namespace", _namespace())
        notes.append(_Note(path, str(fields.get("boot", _boot())), str(namespace)))
    return notes


def _living_users() -> list[_Note]:
    """Return the notes of the other users that live and are in this mount namespace."""
    return [note for note in _notes() if note.path != _note() and note.lives and note.here]


def _namespace() -> str:
    return str(Path("/proc/self/ns/mnt").readlink())


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _is_ours() -> bool:
    """Return whether what is visible in the usual place is a mount that a foreread made."""
    return source().startswith(PREFIX)


def source() -> str:
    """Return the source of the mount in the usual place; empty if nothing is mounted there."""
    place = str(PLACES[0])
    sources = [mount.source for mount in read_mounts() if mount.mountpoint == place]
    return sources[-1] if sources else ""


def _unmount(patience_s: float) -> bool:
    """Unmount it, retrying while it is in use; return whether it is unmounted."""
    end = time.monotonic() + patience_s
    while _is_ours():
        unmount()
        if _is_ours() and time.monotonic() > end:
            return False
        time.sleep(0.02 if _is_ours() else 0)
    return True


def _in_use() -> str:
    """Return who keeps it mounted, with the remedy."""
    place = str(PLACES[0])
    users = dict.fromkeys(
        f"{pid} ({(Path('/proc') / pid / 'comm').read_text().strip()})"
        for link in _links()
        for pid in [link.parts[2]]
        if _points_into(link, place)
    )
    by = f"by process {', '.join(users)}" if users else "by another mount or process"
    return f"it is still mounted, in use {by}: end that, then type: umount {place}"


def _links() -> Iterator[Path]:
    for pattern in ("cwd", "root", "fd/*"):
        yield from Path("/proc").glob(f"[0-9]*/{pattern}")


def _points_into(link: Path, place: str) -> bool:
    try:
        target = str(link.readlink())
    except OSError:
        return False
    return target == place or target.startswith(f"{place}/")


def mount(source: str) -> None:
    """Mount tracefs in its usual place; RecordError if that is not possible."""
    libc = ctypes.CDLL(None, use_errno=True)
    target = os.fsencode(PLACES[0])
    if libc.mount(source.encode(), target, b"tracefs", 0, None) != 0:
        code = ctypes.get_errno()
        if code != errno.EBUSY or not find():  # another foreread was faster
            raise _not_mounted(code)


def _not_mounted(code: int | None) -> RecordError:
    return RecordError(
        f"tracefs cannot be read or mounted at {PLACES[0]}: {os.strerror(code or errno.EIO)}",
        "run as root, in the initial user namespace, on a kernel with CONFIG_FTRACE",
    )


def check_answers(tracefs: Path) -> None:
    """Raise RecordError if a crash of this kernel has left the locks of its tracing held.

    What needs them then waits for ever, and cannot be killed: so one small process tries it, once a
    boot.
    """
    if not int(TAINTED.read_text()) & _CRASHED:
        return
    if not _is_noted_to_hang():
        words = ["cat", str(tracefs / "tracing_on"), str(tracefs / "set_event")]
        with suppress(subprocess.TimeoutExpired):
            null = subprocess.DEVNULL
            subprocess.Popen(words, stdin=null, stdout=null, stderr=null).wait(_ANSWER_S)
            return
        NOTES.mkdir(mode=0o700, exist_ok=True)
        (NOTES / _HANGS).write_text(_boot())
    raise RecordError(
        "the kernel's tracing hangs: the kernel has crashed since it booted (dmesg | grep Oops)",
        "reboot",
    )


def _is_noted_to_hang() -> bool:
    try:
        return (NOTES / _HANGS).read_text() == _boot()
    except FileNotFoundError:
        return False


def unmount() -> None:
    """Undo :func:`mount`; a tracefs that somebody else is using by now stays."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.umount2(os.fsencode(PLACES[0]), _UMOUNT_NOFOLLOW)


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


def remove_leftovers(tracefs: Path) -> list[str]:
    """Remove the instances and event probes of dead forereads; return their names."""
    return [*_remove_instances(tracefs, _INSTANCES_S), *_remove_probes(tracefs)]


def left_instances(tracefs: Path) -> list[Path]:
    """Return the instances of dead forereads; all PID namespaces share them."""
    try:
        instances = sorted((tracefs / "instances").iterdir())
    except FileNotFoundError:  # the last user of the mount has just unmounted it
        return []
    return [
        instance
        for instance in instances
        if (tag := tag_in(instance.name)) is not None and is_gone(tag)
    ]


def _remove_instances(tracefs: Path, patience_s: float) -> list[str]:
    """Remove them; processes that were just killed may have files of them open for a moment."""
    removed: list[str] = []
    until = time.monotonic() + patience_s
    while left := left_instances(tracefs):
        for instance in left:
            with suppress(OSError):
                instance.rmdir()
                removed.append(instance.name)
        if time.monotonic() > until:
            break
        time.sleep(0.02)
    return removed


def probe_group(tag: str) -> str:
    """Return the group of the event probes that the process ``tag`` defines."""
    return PREFIX.replace("-", "_") + tag.replace("-", "_")


def _remove_probes(tracefs: Path) -> list[str]:
    prefix = PREFIX.replace("-", "_")
    removed = []
    for group in _probe_groups(tracefs):
        tag = group.removeprefix(prefix).replace("_", "-")
        if group.startswith(prefix) and is_gone(tag):
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
