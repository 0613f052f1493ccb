"""What a test run has left on the machine: mounts, knobs, loop devices, groups, instances.

Other programs mount, record and tune meanwhile, and only the run's own things count: its folder,
loop devices with an image there, and what has an owner that the run started. A living owner has
the run's mark in its environment; for a dead one a thread noted that while it lived. Of the
machine's own knobs, those count that the run's forereads have changed, as their journals say.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from foreread.boards.base.owner import PREFIX, is_alive, owner_tag, tag_in
from foreread.boards.mounts import is_under, read_mounts
from foreread.tracer.backends.tracefs_mount import NOTES, PLACES
from foreread.tracer.local.jobs import PLACES as JOBS
from foreread.tracer.local.journal_folder import DIRECTORY, journal_folders

MARK = "FOREREAD_TEST_RUN"  # in the environment of all that the run starts
INSTANCES = PLACES[0] / "instances"
KNOBS = ("read_ahead_kb", "scheduler", "nr_requests", "nomerges", "rq_affinity", "max_sectors_kb")
KNOBS += ("wbt_lat_usec", "iosched/*")
GROUPS = ("/sys/fs/cgroup/foreread-*", "/sys/fs/cgroup/*/foreread-*")
_LOOK_S = 0.1


@dataclass
class Change:
    """A knob of the machine in the run's journals: its value before them, and what it was given."""

    old: str
    given: set[str] = field(default_factory=set)


class TestRun:
    """A run whose tests write to ``folder``; ``changes`` by knob."""

    __test__ = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.changes: dict[str, Change] = {}
        self._own = {owner_tag(): True}  # by tag, or by the name of a job's folder
        self._read: dict[str, int] = {}  # lines of a journal, by the tag of its owner
        self._looking = threading.Lock()
        os.environ[MARK] = owner_tag()

    def is_own(self, name: str) -> bool:
        """Return whether what a foreread gave this name is the run's."""
        return self._own.get(tag_in(name) or name, False)

    def look(self) -> None:
        """Note the living owners of the names there are, and what their journals say."""
        with self._looking:
            for place in (INSTANCES, NOTES, *JOBS):
                for name in _names(place):
                    if name.startswith(PREFIX):
                        tag = tag_in(name.removesuffix(".mount"))
                        self._note(tag or name, tag or _host(place / name))
            for folder in journal_folders(DIRECTORY):
                self._look_into(folder)

    def journals(self) -> list[Path]:
        """Return the journals of the run's forereads: one that is left was not undone."""
        return [folder for folder in journal_folders(DIRECTORY) if self._own.get(folder.name)]

    def _note(self, name: str, owner: str) -> bool:
        """Note whose the name is, if its owner lives; return whether it is the run's."""
        if name not in self._own and is_alive(owner):
            self._own[name] = _is_marked(owner)
        return self._own.get(name, False)

    def _look_into(self, folder: Path) -> None:
        tag = folder.name
        if not self._note(tag, tag):
            return
        with suppress(OSError):
            lines = (folder / "journal").read_text().split("\n")[:-1]
            for line in lines[self._read.get(tag, 0) :]:
                knob, old, new = line.split("\t")
                self.changes.setdefault(knob, Change(old)).given.add(new)
            self._read[tag] = len(lines)


@contextmanager
def watched(folder: Path) -> Iterator[TestRun]:
    """Yield the run that writes to the folder; whom it starts is noted until the block ends."""
    run, ended, pause_s = TestRun(folder), threading.Event(), _LOOK_S

    def watch() -> None:
        while not ended.wait(pause_s):
            run.look()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield run
    finally:
        ended.set()
        watcher.join()


def state(run: TestRun) -> dict[str, str]:
    """Return by name what the run has made, while no foreread records."""
    run.look()
    loops = dict(_loops(run))
    found: dict[str, str] = {}
    for place, how in _mounts(run, loops):  # one may hide another
        found[f"mount {place}"] = f"{how} {found.get(f'mount {place}', '')}"
    found |= {f"loop device {name}": image for name, image in loops.items()}
    found |= {f"knob {path}": _value(path) for name in loops for path in _knobs(name)}
    found |= {f"group {path}": "" for path in _groups(run)}
    found |= {f"trace instance {name}": "" for name in _names(INSTANCES) if run.is_own(name)}
    found |= {f"journal {path}": "" for path in run.journals()}
    return found


def differences(run: TestRun, before: dict[str, str]) -> list[str]:
    """Return a line for each thing of the run that is new, gone or different, or not restored."""
    after = state(run)
    gone = "not there"
    changed = [
        f"{name}: {before.get(name, gone)!r} -> {after.get(name, gone)!r}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
        if not name.startswith("knob ") or (name in before and name in after)
    ]
    return changed + [
        f"knob {knob}: {change.old!r} -> {value!r}"
        for knob, change in sorted(run.changes.items())
        if _is_lasting(knob) and (value := _value(Path(knob))) != change.old
        if value in change.given
    ]


def _mounts(run: TestRun, loops: dict[str, str]) -> Iterator[tuple[str, str]]:
    for one in read_mounts():
        own = is_under(one.mountpoint, str(run.folder)) or run.is_own(one.source)
        if own or one.source in loops:
            yield one.mountpoint, f"{one.fstype} {one.options} {one.super_options}"


def _loops(run: TestRun) -> Iterator[tuple[str, str]]:
    """Yield device and image; one that the run has detached stays while others' mounts hold it.

    They are copies in a mount namespace that another program has made meanwhile.
    """
    for file in Path("/sys/block").glob("loop*/loop/backing_file"):
        with suppress(OSError):  # it was detached
            image = file.read_text().strip()
            held = (file.parent / "autoclear").read_text() == "1\n"
            own = is_under(image, str(run.folder)) or any(map(run.is_own, Path(image).parts))
            if own and not held:
                yield f"/dev/{file.parts[3]}", image


def _knobs(loop: str) -> Iterator[Path]:
    queue = Path("/sys/block", Path(loop).name, "queue")
    return (path for name in KNOBS for path in sorted(queue.glob(name)))


def _is_lasting(knob: str) -> bool:
    """Return whether it is a file, and none of a loop device: that may have another image now."""
    return knob.startswith("/") and "/loop" not in knob and "/bdi/7:" not in knob


def _value(knob: Path) -> str:
    """Return the value as journals have it; empty if it is gone."""
    with suppress(OSError):
        text = knob.read_text().strip()
        chosen = re.search(r"\[(\S+)\]", text)
        return chosen[1] if chosen else text
    return ""


def _groups(run: TestRun) -> Iterator[Path]:
    for pattern in GROUPS:
        for path in sorted(Path("/").glob(pattern.lstrip("/"))):
            if str(os.getpid()) in path.name.split("-") or run.is_own(path.name):
                yield path


def _is_marked(tag: str) -> bool:
    """Return whether the run has started the process, or is it."""
    mark = f"{MARK}={os.environ[MARK]}".encode()
    with suppress(OSError):
        return mark in Path("/proc", tag.partition("-")[0], "environ").read_bytes().split(b"\0")
    return False


def _host(job: Path) -> str:
    """Return the owner of a job that has this machine as its target."""
    with suppress(OSError):
        return (job / "host").read_text().strip()
    return ""


def _names(folder: Path) -> list[str]:
    with suppress(OSError):
        return sorted(os.listdir(folder))  # noqa: PTH208  names, and no paths
    return []
