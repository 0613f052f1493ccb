"""The state of a thread between two of its events, and the creation of threads."""

from __future__ import annotations

from dataclasses import dataclass, field

from foreread.analyzer.program.timeline import What
from foreread.analyzer.reference.images import Handle, Image
from foreread.analyzer.reference.missed import Missed

ELSEWHERE = -1  # a position that is an argument, but unknown
_CLONE_VM, _CLONE_FILES = 0x100, 0x400  # include/uapi/linux/sched.h


@dataclass
class Reading:
    """A thread's read(2) in progress.

    ``count`` is in bytes, 0 if unknown; ``position`` is the call's argument, or None. ``several``:
    the call reads in several parts (sendfile, splice).
    """

    descriptor: int
    count: int
    position: int | None
    several: bool = False


@dataclass
class Fault:
    """The present fault of a thread: ``row`` of its operation, and whether it read the page in."""

    file: int
    page: int
    row: int
    present: bool
    missed: bool = False


@dataclass
class Thread:
    """The state of a thread between two of its events."""

    image: Image
    reading: Reading | None = None
    entered: tuple[What, tuple[int, ...]] = (What.OTHER, ())  # the call in progress
    last: tuple[int, int, int] = (-1, -1, -1)  # file, next page, last page of a read seen
    brings: tuple[int, int, int] = (-1, 0, 0)  # file, pages [first, end) about to be read
    kernel_reads: dict[int, Handle] = field(default_factory=dict)  # files that exec reads
    missed: Missed | None = None  # pages that a call in progress has read in
    fault: Fault | None = None

    def executed(self) -> None:
        """Begin a new program, which maps the files that the kernel has read for exec."""
        self.image = self.image.executed(self.kernel_reads)
        self.kernel_reads = {}
        self.reading, self.entered = None, (What.OTHER, ())


class Threads:
    """Threads by thread id."""

    def __init__(self) -> None:
        self.by_id: dict[int, Thread] = {}
        self._flags: dict[int, int] = {}  # of clone, by the thread that clone will create

    def get(self, pid: int) -> Thread:
        """Return a thread; a thread without events has unknown properties."""
        if pid not in self.by_id:
            self.by_id[pid] = Thread(Image())
        return self.by_id[pid]

    def cloned(self, pid: int, flags: int) -> None:
        """Store the clone flags of the next forked thread."""
        self._flags[pid] = flags

    def forked(self, parent: Thread, pid: int) -> None:
        """Add a child; with unknown flags it shares everything, as a thread does."""
        flags = self._flags.pop(pid, _CLONE_VM | _CLONE_FILES)
        files, memory = bool(flags & _CLONE_FILES), bool(flags & _CLONE_VM)
        image = parent.image
        if not (files and memory):
            image = image.forked(files=files, memory=memory)
        self.by_id[pid] = Thread(image)
