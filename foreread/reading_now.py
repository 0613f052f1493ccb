"""What a machine reads now, by file and by process: ``foreread top``."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from analyzer.top.decode import Decoder
from analyzer.top.machine import Watched, number_of, watched
from analyzer.top.rows import Figures
from analyzer.top.seen import Inode
from analyzer.top.watch import Shown, Watch
from boards.counted import plural
from boards.stacks import stacks
from boards.target import LocalTarget, Target
from foreread.documents.top import TopDocument, TopFile, TopProcess
from tracer.formats.capture import dev_text
from tracer.local.handles import paths_by_handle
from tracer.remote.machine import Machine
from tracer.remote.top import ACCESS_EVENTS, Task, Top, top_of

NO_TOUCHES = (
    "this kernel does not record which cached pages are touched (Linux 6.12 does): hits, missed "
    "and unused pages are unknown"
)
AFRESH = "the figures began anew: there were more than fit in memory"
BUFFER_KIB = 512
_SEARCH_S = 10
_ANSWER_S = 30.0  # how long the target may take for an answer


@contextmanager
def reading_now(
    target: Target | None = None,
    interval_s: float = 2.0,
    buffer_kib: int = BUFFER_KIB,
    search: bool = False,
) -> Iterator[ReadingNow]:
    """Record what ``target`` (this machine if None) reads, as long as the block lasts.

    Ask for figures about every ``interval_s`` seconds. ``buffer_kib`` is the trace buffer of each
    processor; events that do not fit are counted as lost. ``search``: look for the names of files
    with find(1) where nothing else knows them, which costs a target time and reads. Raises
    RecordError if the target cannot record, or sends what cannot be parsed, TargetError if it is
    out of reach, and KernelError if the readahead of its kernel is unknown.
    """
    place = LocalTarget() if target is None else target
    within_s = interval_s + _ANSWER_S
    with top_of(place, within_s, buffer_kib) as found:
        yield ReadingNow(found, within_s, isinstance(place, LocalTarget), search)


@dataclass
class ReadingNow:
    """A machine whose reads are recorded, and what is known of them so far."""

    top: Top
    within_s: float
    is_here: bool
    search: bool
    _tasks: dict[int, Task] = field(default_factory=dict)
    _paths: dict[Inode, str] = field(default_factory=dict)
    _asked: set[int] = field(default_factory=set)
    _searched: set[Inode] = field(default_factory=set)
    _began_s: float = field(default_factory=time.monotonic)
    _last_s: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        header = self.top.header_page.encode(errors="surrogateescape")
        machine = self.top.machine
        decoder = Decoder(header, self.top.formats, machine.byte_order)
        self._touches = not self.top.missing & ACCESS_EVENTS
        self._watch = Watch(_watched(machine, self.top.long_size), decoder, self._touches)

    def next(self) -> TopDocument:
        """Return the figures up to now; the interval is the time since the last call."""
        taken = self.top.take(self.within_s, self._watch.is_quiet)
        before_s, self._last_s = self._last_s, time.monotonic()
        now_s = self._last_s
        shown = self._watch.add(taken.pages)
        self._name(shown)
        return TopDocument(
            seconds=round(now_s - self._began_s, 3),
            interval_seconds=round(now_s - before_s, 3),
            page_size=self.top.machine.page_size,
            files=sorted(self._files(shown), key=_rank),
            processes=sorted(self._processes(shown), key=_rank),
            read=shown.read,
            explained=shown.explained,
            lost=sum(taken.lost.values()),
            notes=list(self._notes(shown)),
        )

    def _notes(self, shown: Shown) -> Iterator[str]:
        if not self._touches:
            yield NO_TOUCHES
        if shown.afresh:
            yield AFRESH
        nameless = len(shown.files.keys() - self._paths.keys())
        if nameless and not self.search:
            yield f"{plural(nameless, 'file')} without a name: look for them with --names"

    def _name(self, shown: Shown) -> None:
        """Ask for the names of threads that are new; they may have ended already."""
        new = sorted(shown.threads.keys() - self._asked - {0})
        if new:
            tasks, paths = self.top.tasks(new, self.within_s)
            self._asked |= set(new)
            self._tasks |= tasks
            for (dev, ino), path in paths.items():
                self._paths[number_of(dev), ino] = path
        if self.is_here:
            self._name_here([inode for inode in shown.files if inode not in self._paths])

        if self.search:
            self._search({*shown.files} - self._paths.keys() - self._searched)

    def _search(self, inodes: set[Inode]) -> None:
        """Look for the names of files once."""
        if not inodes:
            return
        self._searched |= inodes
        wanted = {(dev_text(dev), ino) for dev, ino in inodes}
        for (dev, ino), path in self.top.search(wanted, _SEARCH_S).items():
            self._paths[number_of(dev), ino] = path

    def _name_here(self, inodes: list[Inode]) -> None:
        """Name files of this machine, which needs no search."""
        for mount in reversed(self.top.machine.mounts):
            wanted = [ino for dev, ino in inodes if dev_text(dev) == mount.dev]
            if wanted and mount.root == "/":
                found, _ = paths_by_handle(mount.mountpoint, mount.fstype, wanted)
                self._paths |= {(number_of(mount.dev), ino): path for ino, path in found.items()}

    def _files(self, shown: Shown) -> Iterator[TopFile]:
        for inode, one in shown.files.items():
            dev, ino = inode
            yield TopFile(
                dev=dev_text(dev),
                ino=ino,
                name=self._paths.get(inode),
                now=one.now,
                read=one.read,
                hits=one.hits,
                missed=one.missed,
                unused=one.unused,
            )

    def _processes(self, shown: Shown) -> Iterator[TopProcess]:
        """Yield the figures of processes: those of their threads together."""
        sums: dict[int, Figures] = {}
        names: dict[int, str] = {}
        for thread, one in shown.threads.items():
            task = self._tasks.get(thread)
            pid = task.process if task else thread
            sums[pid] = sums[pid] + one if pid in sums else one
            name = task.name if task else self._watch.ended.get(thread)
            if name is not None and (thread == pid or pid not in names):
                names[pid] = name
        for pid, one in sums.items():
            yield TopProcess(
                pid=pid,
                name=names.get(pid),
                now=one.now,
                read=one.read,
                hits=one.hits,
                missed=one.missed,
                unused=one.unused,
            )


def _rank(row: TopFile | TopProcess) -> tuple[int, int, str]:
    """Return the key that brings what reads now to the top, then what has read most."""
    return -row.now, -row.read, row.name or ""


def _watched(machine: Machine, long_size: int) -> Watched:
    with machine.devices() as devices:
        found = stacks(devices)
        disks = [devices.disk(name).dev for name in devices.mounted()]
    return watched(
        machine.kernel,
        machine.machine,
        machine.page_size,
        long_size,
        found,
        machine.mounts,
        frozenset(map(number_of, disks)),
    )
