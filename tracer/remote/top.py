"""What a target reads, taken from the kernel's buffers at intervals (top.sh, take.sh).

The target's shell does it, also on this machine. A process on the target owns the instance of the
trace and removes it when the host has gone; what the target sends is not trusted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from foreread.boards.base.units import kib_to_pages
from foreread.boards.target import Target
from foreread.tracer.backends.base import INDISPENSABLE
from foreread.tracer.error import RecordError
from foreread.tracer.remote import guarded_run
from foreread.tracer.remote.guarded_run import losing_no_target
from foreread.tracer.remote.job import STEP_S, Fact, Job, facts, making_sense, part
from foreread.tracer.remote.machine import Machine
from foreread.tracer.remote.pages import layout_of
from foreread.tracer.remote.run_facts import by_key, texts
from foreread.tracer.runs.cold import parse_mapping

PARTS = (*guarded_run.PARTS, "owned.sh", "search.sh", "top.sh")
TAKE, TASKS = "take.sh", "tasks.sh"
EXITS = "sched:sched_process_exit"
BIOS = "block:block_bio_queue"  # says which inserts were filled from a disk
EVENTS = (
    INDISPENSABLE,
    BIOS,
    "filemap:mm_filemap_fault",
    EXITS,
)
TOUCHES = ("filemap:mm_filemap_get_pages", "filemap:mm_filemap_map_pages")
ACCESS_EVENTS = frozenset({"filemap:mm_filemap_fault", *TOUCHES})
LEAST_BUFFER_KIB, MOST_BUFFER_KIB = 512, 8192
_SHARE_OF_MEMORY = 64
MOST_SEARCHED = 1000  # inodes of a search: the length of a command line is limited
_LEAF = 4  # inodes that find compares one by one
_MOST_TASKS = 200  # in one question: the length of a command line is limited
_CPU = re.compile(rb"cpu (\d{1,5}) (\d{1,9}) (\d{1,19})")
_FOUND = re.compile(rb"(\d{1,20}) (/.*)", re.S)
_TASK = re.compile(r"(\d{1,10}) (\d{1,10}) (.*)", re.S)
Inode = tuple[str, int]


@dataclass(frozen=True)
class Taken:
    """What the buffers held: raw pages by CPU, and the events that each CPU has lost so far."""

    pages: dict[int, bytes]
    lost: dict[int, int]


@dataclass(frozen=True)
class Task:
    """A thread: the number of its process, and its name, which may hold any character."""

    process: int
    name: str


class Top:
    """A target whose reads are recorded; ``formats`` are texts by "system:name"."""

    def __init__(self, job: Job, machine: Machine, probed: Iterable[Fact], buffer_kib: int) -> None:
        self._job = job
        self._find: set[str] | None = None  # what the target's find can do; None: not asked yet
        self._found_bytes = 0  # bytes that were taken from the search's output
        self.machine = machine
        with making_sense("what it records"):
            lines = by_key(list(probed))
            formats = texts(lines["format"], ":")
            self.missing = frozenset(lines["missing"])
            self.header_page = formats.pop("header_page")
            self.formats = {
                path.removesuffix("/format").replace("/", ":"): text.encode(
                    errors="surrogateescape"
                )
                for path, text in formats.items()
            }
        offset, data_bytes, self.long_size = layout_of(self.header_page)
        self._page_bytes, self._data_bytes = offset + data_bytes, data_bytes
        self._most = max(1, kib_to_pages(buffer_kib, self._page_bytes) + 2)

    def take(self, within_s: float, quiet: bool = False) -> Taken:
        """Take the pages of all buffers; call again ``within_s``.

        ``quiet``: touches are not recorded until a disk is read again. Raises RecordError,
        TargetError.
        """
        numbers = (self._page_bytes, self._data_bytes, self._most)
        words = ("yes" if quiet else "no", *map(str, numbers))
        step = "taking the events"
        answer = self._job.raw(*words, step=step, within_s=within_s, program=TAKE).stdout
        with making_sense("the events"):
            return parse_taken(answer, self._page_bytes)

    def tasks(
        self, threads: Sequence[int], within_s: float
    ) -> tuple[dict[int, Task], dict[Inode, str]]:
        """Return those of ``threads`` that live, and the paths of the files that they map."""
        tasks: dict[int, Task] = {}
        paths: dict[Inode, str] = {}
        for at in range(0, len(threads), _MOST_TASKS):
            some = map(str, threads[at : at + _MOST_TASKS])
            step = "naming processes"
            answer = self._job.raw(*some, step=step, within_s=within_s, program=TASKS)
            for fact in facts(answer.stdout):
                if fact.key == "task" and (match := _TASK.fullmatch(fact.value)):
                    tasks[int(match[1])] = Task(int(match[2]), match[3])
                elif fact.key == "map":
                    with making_sense("a mapping"):
                        mapping = parse_mapping(fact.value)
                    paths |= [mapping] if mapping else []
        return tasks, paths

    def begin_search(self, roots: Sequence[str], inodes: Iterable[int], within_s: float) -> None:
        """Look for inodes below directories, in the background; at most MOST_SEARCHED inodes.

        Raises RecordError if the target's find cannot.
        """
        step = "looking for names of files"
        if self._find is None:
            abilities = self._job.ask("find_abilities", step=step, within_s=within_s)
            self._find = {fact.value for fact in abilities if fact.key == "search"}
        if "inode" not in self._find:
            raise RecordError(
                "the target's find does not compare inode numbers",
                "repeat the command without --names, or build busybox with FEATURE_FIND_INUM",
            )
        terms = among(sorted(inodes)) if "order" in self._find else one_of(inodes)
        self._found_bytes = 0
        self._job.ask("begin_search", *roots, "-xdev", *terms, step=step, within_s=within_s)

    def poll_search(self, within_s: float) -> tuple[bool, list[tuple[int, str]]]:
        """Return whether the search is over, and the inodes and paths found since the last call."""
        words = ("found", str(self._found_bytes))
        answer = self._job.raw(*words, step="reading names of files", within_s=within_s).stdout
        state, _, rest = answer.partition(b"\n")
        whole = rest[: rest.rfind(b"\0") + 1]
        self._found_bytes += len(whole)
        matches = map(_FOUND.fullmatch, whole.split(b"\0"))
        return state == b"over", [(int(m[1]), os.fsdecode(m[2])) for m in matches if m]

    def end_search(self, within_s: float) -> None:
        """End the search."""
        self._job.ask("end_search", step="ending the search for names", within_s=within_s)


def one_of(inodes: Iterable[int]) -> list[str]:
    """Return words for find(1) that choose the files with these inode numbers."""
    return ["(", *" -o ".join(f"-inum {ino}" for ino in inodes).split(), ")"]


def among(inodes: Sequence[int]) -> list[str]:
    """Return the same for sorted numbers, as a tree: a file is compared with a few of them.

    Of a thousand, with about 20: find takes as long as without numbers.
    """
    if len(inodes) <= _LEAF:
        return one_of(inodes)
    middle = len(inodes) // 2
    low, high = among(inodes[:middle]), among(inodes[middle:])
    return [
        "(",
        "-inum",
        f"-{inodes[middle]}",
        *low,
        "-o",
        "-inum",
        f"+{inodes[middle] - 1}",
        *high,
        ")",
    ]


@contextmanager
def top_of(
    target: Target,
    within_s: float,
    buffer_kib: int | None,
    shell: Sequence[str] = ("sh",),
) -> Iterator[Top]:
    """Record what ``target`` reads as long as the block lasts. Raises RecordError, TargetError.

    The buffers are taken at least every ``within_s`` seconds. ``buffer_kib``: of each CPU, by
    ``buffer_for`` if None.
    """
    with losing_no_target() as jobs, Job(target, PARTS, shell) as job:
        jobs.append(job)
        job.settings({}, [])
        machine = Machine.parse(job.ask("probe", step="looking at the target"))
        devs = disk_file_systems(machine)
        if not devs:
            raise RecordError(
                "the target has no file system on a disk", "mount one, and repeat the command"
            )
        size_kib = buffer_for(machine) if buffer_kib is None else buffer_kib
        settings = {
            "events": " ".join(EVENTS),
            "touches": " ".join(TOUCHES),
            "filter": " || ".join(_terms(devs)),
            "buffer_kib": str(size_kib),
        }
        job.settings(settings, [])
        job.give(TAKE, part("brief.sh") + part("unread.sh") + part(TAKE))
        job.give(TASKS, part("brief.sh") + part(TASKS))
        began = job.ask("begin_top", step="starting the recorder", within_s=within_s + STEP_S)
        yield Top(job, machine, began, size_kib)


def buffer_for(machine: Machine) -> int:
    """Return the KiB of each CPU's buffer: all together 1/64 of the free memory, within bounds."""
    fair = machine.available_kib // _SHARE_OF_MEMORY // machine.cpu_count
    return max(LEAST_BUFFER_KIB, min(MOST_BUFFER_KIB, fair))


def disk_file_systems(machine: Machine) -> list[str]:
    """Return the "major:minor" of each mounted file system that lies on disks."""
    with machine.devices() as devices:
        devs = dict.fromkeys(mount.dev for mount in machine.mounts)
        return [dev for dev in devs if devices.disks_of_superblock(dev)]


def parse_taken(answer: bytes, page_bytes: int) -> Taken:
    """Return what ``take`` printed; ValueError for anything else, RecordError without an owner."""
    pages: dict[int, bytes] = {}
    lost: dict[int, int] = {}
    at = 0
    while at < len(answer):
        end = answer.find(b"\n", at)
        line = answer[at : max(end, at)]
        at = end + 1
        if line == b"gone":
            raise RecordError(
                "the recorder on the target died",
                "look at the target's kernel log: it may have been killed, or out of memory",
            )
        match = _CPU.fullmatch(line)
        if match is None:
            raise ValueError(os.fsdecode(line[:60]))
        size = int(match[2]) * page_bytes
        if at + size > len(answer):
            raise ValueError(f"CPU {int(match[1])} is cut off")
        pages[int(match[1])], lost[int(match[1])] = answer[at : at + size], int(match[3])
        at += size
    if not lost:
        raise ValueError("there is no CPU")
    return Taken(pages, lost)


def _terms(devs: Iterable[str]) -> Iterator[str]:
    """Yield the terms of the filter: files of these file systems, and their metadata.

    The inode of a block device has the number of the device (block/bdev.c, 5.11).
    """
    for dev in devs:
        major, minor = map(int, dev.split(":"))
        yield f"s_dev == {major << 20 | minor}"
        if major:
            yield f"i_ino == {major << 20 | minor}"
