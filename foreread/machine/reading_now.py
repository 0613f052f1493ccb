"""What a machine reads now, by file and by process: ``foreread top``."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from foreread.analyzer.top.decode import Decoder
from foreread.analyzer.top.machine import Watched, watched
from foreread.analyzer.top.rows import Figures
from foreread.analyzer.top.watch import Shown, Watch
from foreread.boards.base.brief import brief
from foreread.boards.base.counted import plural
from foreread.boards.stacks import stacks
from foreread.boards.target import LocalTarget, Target
from foreread.documents.top import TopDocument, TopFile, TopProcess
from foreread.machine.file_names import FileNames
from foreread.tracer.formats.capture import dev_of, dev_text
from foreread.tracer.remote.machine import Machine
from foreread.tracer.remote.top import ACCESS_EVENTS, Task, Top, top_of

NO_TOUCHES = (
    "this kernel does not record which cached pages are touched (Linux 6.12 does): hits, missed "
    "and unused pages are unknown; those of one start, from a recording: "
    "foreread record -o CAPTURE -- COMMAND"
)
AFRESH = "the figures began anew: there were more than fit in memory"
_ANSWER_S = 30.0  # how long the target may take for an answer


@contextmanager
def reading_now(
    target: Target | None = None,
    interval_s: float = 2.0,
    buffer_kib: int | None = None,
    search: bool = False,
) -> Iterator[ReadingNow]:
    """Record what ``target`` (this machine if None) reads, as long as the block lasts.

    Ask for figures about every ``interval_s`` seconds. ``buffer_kib`` is the trace buffer of each
    processor, chosen by the target's free memory if None; events that do not fit are counted as
    lost. ``search``: look for names of files that are otherwise unknown with find(1), in the
    background; this costs a target time and reads. Raises
    RecordError if the target cannot record, or sends what cannot be parsed, TargetError if it is
    out of reach, and KernelError if the readahead of its kernel is unknown.
    """
    place = LocalTarget() if target is None else target
    within_s = interval_s + _ANSWER_S
    with top_of(place, within_s, buffer_kib) as top:
        yield ReadingNow(top, within_s, isinstance(place, LocalTarget), search)


@dataclass(repr=False)
class ReadingNow:
    """A machine under observation: its reads are recorded, and counted by file and process."""

    __repr__ = brief

    top: Top
    within_s: float
    is_here: bool
    search: bool
    _tasks: dict[int, Task] = field(default_factory=dict)
    _asked: set[int] = field(default_factory=set)
    _began_s: float = field(default_factory=time.monotonic)
    _last_s: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        header = self.top.header_page.encode(errors="surrogateescape")
        machine = self.top.machine
        decoder = Decoder(header, self.top.formats, machine.byte_order)
        self._names = FileNames(self.top, self.within_s, self.is_here, self.search)
        self._touches = not self.top.missing & ACCESS_EVENTS
        self._watched = _watched(machine, self.top.long_size)
        self._watch = Watch(self._watched, decoder, self._touches)

    def next(self, last: bool = False) -> TopDocument:
        """Return the figures up to now; the interval is the time since the last call.

        ``last``: nobody calls again, so a search for names is waited for, some seconds at most.
        Raises RecordError, TargetError.
        """
        news = self.top.take(self.within_s, self._watch.is_quiet)
        before_s, self._last_s = self._last_s, time.monotonic()
        now_s = self._last_s
        shown = self._watch.add(news.pages, last)
        self._name(shown)
        self._names.name(shown.files, wait=last)
        return TopDocument(
            seconds=round(now_s - self._began_s, 3),
            interval_seconds=round(now_s - before_s, 3),
            page_size=self.top.machine.page_size,
            files=sorted(self._files(shown), key=_rank),
            processes=sorted(self._processes(shown), key=_rank),
            read=shown.read,
            explained=shown.explained,
            lost=sum(news.lost.values()),
            notes=list(self._notes(shown)),
        )

    def _notes(self, shown: Shown) -> Iterator[str]:
        if not self._touches:
            yield NO_TOUCHES
        if shown.afresh:
            yield AFRESH
        yield from self._watched.doubts
        nameless = len(shown.files.keys() - self._names.paths.keys())
        if nameless:
            yield f"{plural(nameless, 'file')} without a name: {self._names.why()}"

    def _name(self, shown: Shown) -> None:
        """Ask for the names of threads that are new; they may have ended already."""
        new = sorted(shown.threads.keys() - self._asked - {0})
        if new:
            tasks, paths = self.top.tasks(new, self.within_s)
            self._asked |= set(new)
            self._tasks |= tasks
            self._names.learn(paths)

    def _files(self, shown: Shown) -> Iterator[TopFile]:
        for inode, figures in shown.files.items():
            dev, ino = inode
            yield TopFile(
                dev=dev_text(dev),
                ino=ino,
                name=self._names.paths.get(inode),
                now=figures.now,
                read=figures.read,
                hits=figures.hits,
                missed=figures.missed,
                unused=figures.unused,
            )

    def _processes(self, shown: Shown) -> Iterator[TopProcess]:
        """Yield the figures of processes: the sums over their threads."""
        sums: dict[int, Figures] = {}
        names: dict[int, str] = {}
        for thread, figures in shown.threads.items():
            task = self._tasks.get(thread)
            pid = task.process if task else thread
            sums[pid] = sums[pid] + figures if pid in sums else figures
            name = task.name if task else self._watch.ended.get(thread)
            if name is not None and (thread == pid or pid not in names):
                names[pid] = name
        for pid, figures in sums.items():
            yield TopProcess(
                pid=pid,
                name=names.get(pid),
                now=figures.now,
                read=figures.read,
                hits=figures.hits,
                missed=figures.missed,
                unused=figures.unused,
            )


def _rank(row: TopFile | TopProcess) -> tuple[int, int, str]:
    """Return the key that brings what reads now to the top, then what has read most."""
    return -row.now, -row.read, row.name or ""


def _watched(machine: Machine, long_size: int) -> Watched:
    with machine.devices() as devices:
        mounted = stacks(devices)
        disks = [devices.disk(name).dev for name in devices.mounted()]
    return watched(
        machine.kernel,
        machine.machine,
        machine.page_size,
        long_size,
        mounted,
        machine.mounts,
        frozenset(map(dev_of, disks)),
        machine.squashfs,
    )
