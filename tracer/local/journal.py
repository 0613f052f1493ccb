"""The journal of changed settings: every change is noted before it is made, and is undone.

A shell sets, notes and puts back, by the functions that a job on a target has
(tracer/runs/knobs.sh): one format, one reader. There is one folder per process in
``/run/foreread``, with the tag of the process as its name. It holds the journal, which is written
*before* the knob is, so that its reader sees every knob that may have changed. What a killed
process has written stays readable; nothing is synced, since a reboot resets the knobs by itself. If
/run survives a reboot, the boot id in the folder differs and nothing is restored.

The directory belongs to root alone, since whoever writes to it chooses what root will write.

The journal is also the lock of the machine's knobs: two recordings at a time would save each
other's values as the original ones. The kernel releases the lock (flock) when its owner ends for
any reason.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Self

from foreread.boards.base import guard
from foreread.boards.base.interrupts import uninterrupted
from foreread.boards.base.owner import marked, owner_tag
from foreread.boards.base.scratch import remove_leftovers
from foreread.boards.labgrid.held import release_leftovers
from foreread.tracer.backends import tracefs_mount
from foreread.tracer.error import RecordError
from foreread.tracer.local.jobs import end_jobs
from foreread.tracer.local.journal_folder import (
    DIRECTORY,
    acquire,
    boot_id,
    check_directory,
    journal_folders,
    make_directory,
    no_journal,
)
from foreread.tracer.local.orphans import end_orphans
from foreread.tracer.runs.knobs import KnobRefused, shell_functions
from foreread.tracer.runs.restored import Restored, is_done

OPEN = "a program has a file of it open; end that, then: foreread doctor --restore"
_BOOT = "boot"  # holds the id of the boot
_UNDONE, _DONE = "journal", "journal.done"  # as knobs.sh names them
# Signals to a service reach the shell too: only a SIGKILL stops it half-way.
_HEAD = """\
trap '' INT TERM HUP QUIT
set -u
umask 077
export LC_ALL=C
tab=$(printf '\\t') job=$1
shift
set_all() {
    while [ $# -gt 1 ]; do
        set_knob "$1" "$2" || return
        shift 2
    done
}
"""


class Journal:
    """Changes knobs and puts them back, in reverse order, when the block ends.

    On entry it puts back what dead forereads have left (``leftovers``). ``wait_s`` is how long
    to wait for another foreread that holds the knobs of this machine; RecordError when it still
    does, or without the rights to keep a journal.
    """

    def __init__(self, directory: Path = DIRECTORY, wait_s: float = 0.0) -> None:
        self.directory = directory
        self.leftovers: list[Restored] = []
        self.restored: list[Restored] = []
        self._wait_s = wait_s
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
            self.leftovers = _undo_all(self.directory)
            self.folder = self.directory / owner_tag()
            self.folder.mkdir(mode=0o700)
            (self.folder / _BOOT).write_text(boot_id())
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
            if all(map(is_done, self.restored)):
                shutil.rmtree(self.folder, ignore_errors=True)
            else:
                with suppress(FileNotFoundError):  # the shell did not come to its end
                    (self.folder / _DONE).replace(self.folder / _UNDONE)
            os.close(self._lock)
            guard.release()

    def set(self, knob: str, value: str) -> str:
        """Set ``knob`` after noting its old value; return the value the kernel took.

        Raises KnobRefused (a RecordError) for a knob or a value that is not in boards/knobs.toml,
        that the kernel refuses, or that could not be put back.
        """
        outcome = self.set_all([(knob, value)])[knob]
        if isinstance(outcome, KnobRefused):
            raise outcome
        return outcome

    def set_all(self, settings: Sequence[tuple[str, str]]) -> dict[str, str | KnobRefused]:
        """Set these (knob, value) in one shell; return by knob the value taken, or the refusal.

        Raises RecordError if the journal cannot be written: the other knobs are not set then.
        """
        with uninterrupted():
            answer = _shell(self.folder, "set_all", *chain.from_iterable(settings))
        outcomes: dict[str, str | KnobRefused] = {}
        for line in answer.stdout.splitlines():
            verb, _, fields = line.partition(" ")
            if verb in ("knob", "unset"):
                knob, old, rest = fields.split("\t")
                outcomes[knob] = rest if verb == "knob" else _refusal(knob, rest)
                self._originals.setdefault(knob, old)
        if answer.returncode or outcomes.keys() != {knob for knob, _ in settings}:
            raise RecordError(
                f"cannot write a journal in {self.directory}: {answer.stderr.strip()}",
                f"free some space in {self.directory}",
            )
        return outcomes

    def original(self, knob: str) -> str:
        """Return the value that a knob had before it was set; LookupError if it was not."""
        return self._originals[knob]

    def restore(self) -> list[Restored]:
        """Put every knob back, the last one changed first; also kept in ``restored``."""
        with uninterrupted():
            self.restored += _put_back(self.folder, "restored")
        return self.restored


def _refusal(knob: str, why: str) -> KnobRefused:
    remedy = "run as root, on a machine that has this setting"
    return KnobRefused(f"{knob} cannot be set ({why})", remedy)


def restore_leftovers(directory: Path = DIRECTORY) -> list[Restored]:
    """Put back what forereads that were killed had changed; return what was done.

    Knobs are left while a living foreread holds them, and reported if somebody else changed them.
    Processes, jobs, trace instances, probes, mounts and temporary files of dead forereads go too,
    and the places of labs that they held.
    RecordError if the journal's directory is not this user's own.
    """
    with uninterrupted():
        ended = [Restored(f"process {process}", "ended") for process in end_orphans()]
        ended += [Restored(f"job {folder}", "ended") for folder in end_jobs()]
        ended += [Restored(f"place {lab}", "released", why) for lab, why in release_leftovers()]
        try:
            knobs = _leftover_knobs(directory)
        finally:
            others = _leftover_tracing()
            others += [Restored(path, "removed") for path in remove_leftovers()]
        return [*ended, *knobs, *others]


guard.recovers(restore_leftovers)


def _leftover_knobs(directory: Path) -> list[Restored]:
    if not directory.is_dir():
        return []
    check_directory(directory)
    try:
        lock = acquire(directory, wait_s=0.0)
    except RecordError:
        return []
    try:
        return _undo_all(directory)
    finally:
        os.close(lock)


def _undo_all(directory: Path) -> list[Restored]:
    """Undo all journals in ``directory``; the caller holds the lock, so their owners are dead."""
    return [knob for folder in journal_folders(directory) for knob in _undo(folder)]


def _undo(folder: Path) -> list[Restored]:
    """Undo the journal in ``folder`` and remove it; return the outcome for every knob."""
    is_of_this_boot = _text(folder / _BOOT) == boot_id()
    restored = _put_back(folder, "leftover") if is_of_this_boot else []
    shutil.rmtree(folder, ignore_errors=True)
    return restored


def _leftover_tracing() -> list[Restored]:
    with tracefs_mount.visible_to_restore() as place:
        names = tracefs_mount.remove_leftovers(place) if place else []
        removed = [Restored(f"{place}: {name}", "removed") for name in names]
        if place and (busy := tracefs_mount.left_instances(place)):
            # tracefs stays mounted: the next foreread would not see them without it.
            return removed + [Restored(str(instance), "", OPEN) for instance in busy]
    left = tracefs_mount.unmount_leftover()
    return removed + [Restored(place, "unmounted", problem) for place, problem in left]


def _put_back(folder: Path, key: str) -> list[Restored]:
    """Have the shell undo the journal in ``folder``; its lines begin with ``key``."""
    answer = _shell(folder, "restore", str(folder), key)
    restored: dict[str, Restored] = {}
    for line in answer.stdout.split("\n"):
        if line.startswith(f"{key} "):
            knob, _, rest = line.removeprefix(f"{key} ").partition("\t")
            value, _, problem = rest.rpartition("\t")
            restored.pop(knob, None)  # the first change of several is undone last
            restored[knob] = Restored(knob, value, problem)
    if answer.returncode:
        why = answer.stderr.strip() or f"the shell ended with {answer.returncode}"
        return [*restored.values(), Restored(str(folder), "", why)]
    return list(restored.values())


def _shell(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Call a function of knobs.sh, with the journal in ``folder``.

    The shell carries the mark of this process: if both are killed, the shell's end comes before
    its journal is read.
    """
    script = f'{_HEAD}{shell_functions()}\n"$@"'
    return subprocess.run(
        ["sh", "-c", script, "sh", str(folder), *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        env=marked(),
        start_new_session=True,  # without the Ctrl-C of a terminal
        check=False,
    )


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace").strip()
    except OSError:
        return ""
