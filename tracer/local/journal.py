"""The journal of changed knobs: every change is on disk before it is made, and is undone.

There is one file per process in ``/run/foreread``, with one JSON document per line: first a header,
then a line for every change, written and synced *before* the knob is. A reader therefore sees every
knob that may have changed; a torn last line belongs to a change that was not made.

``/run`` since it must survive the process and not the boot: a reboot resets the knobs by
itself. If /run survives a reboot, the boot id in the header differs and nothing is restored.

The directory belongs to root alone, since whoever writes to it chooses what root will write. Knobs
that another knob resets, as a scheduler its tunables (tracer.runs.knobs), are noted before it, and
thus restored after it.

The journal is also the lock of the machine's knobs: two recordings at a time would save each
other's values as the original ones. The kernel releases the lock (flock) when its owner ends for
any reason.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from foreread.boards.base import guard
from foreread.boards.base.scratch import remove_leftovers
from foreread.boards.labgrid.held import release_leftovers
from foreread.boards.target import LocalTarget, Target
from foreread.tracer.backends import tracefs_mount
from foreread.tracer.error import RecordError
from foreread.tracer.interrupts import uninterrupted
from foreread.tracer.local.jobs import end_jobs
from foreread.tracer.local.journal_folder import (
    DIRECTORY,
    acquire,
    boot_id,
    check_directory,
    make_directory,
    no_journal,
    sync_directory,
)
from foreread.tracer.local.orphans import end_orphans
from foreread.tracer.runs.knobs import (
    check_knob,
    check_put_back,
    check_setting,
    goes_with,
    is_of_mount,
    is_tunable,
    put_back_knob,
    read_knob,
    resets,
    write_knob,
)
from foreread.tracer.runs.restored import GONE, LEFT, Restored, is_done

SCHEMA = 1
OPEN = "a program has a file of it open; end that, then: foreread doctor --restore"
_SUFFIX = ".journal"


class Journal:
    """Changes knobs and puts them back, in reverse order, when the block ends.

    On entry it puts back what dead forereads have left (``leftovers``). ``wait_s`` is how long
    to wait for another foreread that holds the knobs of this machine; RecordError when it still
    does, or without the rights to keep a journal.
    """

    def __init__(
        self,
        target: Target | None = None,
        directory: Path = DIRECTORY,
        wait_s: float = 0.0,
    ) -> None:
        self.target = target or LocalTarget()
        self.directory = directory
        self.leftovers: list[Restored] = []
        self.restored: list[Restored] = []
        self._wait_s = wait_s
        self._file = -1
        self._lock = -1
        self._originals: dict[str, str] = {}

    def __enter__(self) -> Self:
        guard.hold()
        try:
            return self._enter()
        except BaseException:
            guard.release()
            raise

    def _enter(self) -> Self:
        make_directory(self.directory)
        self._lock = acquire(self.directory, self._wait_s)
        try:
            # Otherwise the values of a dead foreread would be taken for the original ones.
            self.leftovers = _replay_all(self.target, self.directory)
            self.path = self.directory / f"{os.getpid()}{_SUFFIX}"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
            self._file = os.open(self.path, flags, 0o600)
            self._append({"schema": SCHEMA, "boot": boot_id(), "pid": os.getpid()})
            sync_directory(self.directory)
        except OSError as error:
            os.close(self._lock)
            raise no_journal(self.directory, error) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with uninterrupted():
            self.restore()
            os.close(self._file)
            if all(is_done(one) for one in self.restored):
                self.path.unlink(missing_ok=True)
            os.close(self._lock)
            guard.release()

    def set(self, knob: str, value: str) -> str:
        """Set ``knob`` after noting its old value; return the value the kernel took.

        Raises OSError as the target does, and KnobRefused (a RecordError) for a knob or a value
        that is not in boards/knobs.toml, or one whose old value could not be put back.
        """
        check_knob(knob)
        with uninterrupted():
            old = read_knob(self.target, knob)
            if old == value and knob not in self._originals:
                return old
            original = self._originals.get(knob, old)
            check_put_back(self.target, knob, original)
            if value != original:
                check_setting(self.target, knob, value)
            if knob not in self._originals:
                self._note_reset(knob)
            self._note(knob, self._originals.setdefault(knob, old), value)
            taken = write_knob(self.target, knob, value)
            if taken != value:
                self._note(knob, self._originals[knob], taken)
            return taken

    def original(self, knob: str) -> str | None:
        """Return the value that ``knob`` will be given back, None if it was not changed."""
        return self._originals.get(knob)

    def restore(self) -> list[Restored]:
        """Put every knob back, the last one changed first; also kept in ``restored``."""
        with uninterrupted():
            for knob in reversed(list(self._originals)):
                self.restored.append(_put_back(self.target, knob, self._originals.pop(knob)))
        return self.restored

    def _note_reset(self, by: str) -> None:
        """Note the knobs that this one resets, as if they had been changed."""
        for knob in goes_with(self.target, by):
            with suppress(OSError):  # some can only be written
                value = read_knob(self.target, knob)
                self._note(knob, self._originals.setdefault(knob, value), value)

    def _note(self, knob: str, old: str, new: str) -> None:
        try:
            self._append({"knob": knob, "old": old, "new": new})
        except OSError as error:
            raise no_journal(self.directory, error) from error

    def _append(self, document: dict[str, Any]) -> None:
        os.write(self._file, json.dumps(document).encode() + b"\n")
        os.fsync(self._file)


def restore_leftovers(target: Target | None = None, directory: Path = DIRECTORY) -> list[Restored]:
    """Put back what forereads that were killed had changed; return what was done.

    Knobs are left while a living foreread holds them, and reported if somebody else changed them.
    Processes, jobs, trace instances, probes, mounts and temporary files of dead forereads go too,
    and the places of labs that they held.
    RecordError if the journal's directory is not this user's own.
    """
    with uninterrupted():
        ended = [Restored(f"process {one}", "ended") for one in end_orphans()]
        ended += [Restored(f"job {folder}", "ended") for folder in end_jobs()]
        ended += [Restored(f"place {one}", "released", why) for one, why in release_leftovers()]
        try:
            knobs = _leftover_knobs(target or LocalTarget(), directory)
        finally:
            others = _leftover_tracing()
            others += [Restored(path, "removed") for path in remove_leftovers()]
        return [*ended, *knobs, *others]


guard.recovers(restore_leftovers)


def _leftover_knobs(target: Target, directory: Path) -> list[Restored]:
    if not directory.is_dir():
        return []
    check_directory(directory)
    try:
        lock = acquire(directory, wait_s=0.0)
    except RecordError:
        return []
    try:
        return _replay_all(target, directory)
    finally:
        os.close(lock)


def _replay_all(target: Target, directory: Path) -> list[Restored]:
    """Undo all journals in ``directory``; the caller holds the lock, so their owners are dead."""
    journals = sorted(directory.glob(f"*{_SUFFIX}"))
    return [one for path in journals for one in _replay(target, path)]


def _leftover_tracing() -> list[Restored]:
    with tracefs_mount.visible_to_restore() as place:
        names = tracefs_mount.remove_leftovers(place) if place else []
        removed = [Restored(f"{place}: {name}", "removed") for name in names]
        if place and (busy := tracefs_mount.left_instances(place)):
            # tracefs stays mounted: the next foreread would not see them without it.
            return removed + [Restored(str(one), "", OPEN) for one in busy]
    left = tracefs_mount.unmount_leftover()
    return removed + [Restored(place, "unmounted", problem) for place, problem in left]


def _replay(target: Target, path: Path) -> list[Restored]:
    """Undo the journal ``path`` and remove it; return the outcome for every knob."""
    changes = list(_changes(path))
    originals: dict[str, str] = {}
    given: dict[str, set[str]] = {}
    for change in changes:
        originals.setdefault(change["knob"], change["old"])
        given.setdefault(change["knob"], set()).add(change["new"])
    restored: list[Restored] = []
    for knob in reversed(list(originals)):
        # Values that the kernel reset with a knob that we restored were not set by somebody else.
        reset = any(resets(one.knob, knob) and not one.problem for one in restored)
        known = None if reset else given[knob]
        restored.append(_put_back(target, knob, originals[knob], known))
    path.unlink(missing_ok=True)
    return restored


def _changes(path: Path) -> Iterator[dict[str, str]]:
    """Yield the changes of this boot that the journal holds; damaged lines end it."""
    for number, line in enumerate(path.read_bytes().split(b"\n")):
        try:
            document = json.loads(line)
        except ValueError:
            return
        if not isinstance(document, dict):
            return
        if number == 0:
            if document.get("schema") != SCHEMA or document.get("boot") != boot_id():
                return
        elif all(isinstance(document.get(key), str) for key in ("knob", "old", "new")):
            yield document


def _put_back(target: Target, knob: str, old: str, given: set[str] | None = None) -> Restored:
    """Restore the old value of ``knob``, unless its value is not among ``given``."""
    try:
        check_knob(knob)
        current = read_knob(target, knob)
        if given is not None and current not in given | {old}:
            return Restored(knob, old, LEFT.format(current))
        taken = current if current == old else put_back_knob(target, knob, old)
    except FileNotFoundError:
        # If a tunable is gone with its scheduler, the scheduler's entry reports the problem; a file
        # system that was unmounted has nothing left to put back.
        return Restored(knob, old, "" if is_tunable(knob) or is_of_mount(knob) else GONE)
    except (OSError, RecordError, ValueError) as error:
        return Restored(knob, old, str(error))
    return Restored(knob, old, "" if taken == old else f"the kernel made it {taken}")
