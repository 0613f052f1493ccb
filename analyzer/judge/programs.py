"""The generated programs: one for each rule of the readahead, by name, then random ones by seed.

All sizes are multiples of a page, except for the last byte, so that a board with larger pages gets
the same programs on fewer pages.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial

from foreread.analyzer.judge.task import Task
from foreread.boards.base.units import KIB
from foreread.emulator.linux.operations import MapFlag, Op

SMALL, MEDIUM, LARGE = 13 * KIB + 100, 200 * KIB, 560 * KIB
MISSED = 2800 * KIB  # more than 100 windows of 16 KiB
RANDOM_PROGRAMS, ODD_PROGRAMS = 12, 4
_SEED, _ODD_SEED = 14, 1
_MANY_MISSES = 112  # more than MMAP_LOTSAMISS (mm/filemap.c)
_NAMED_MAPPINGS: tuple[tuple[str, MapFlag], ...] = (
    ("", MapFlag(0)),
    (" of a shared mapping", MapFlag.SHARED),
    (" of an executable mapping", MapFlag.EXEC),
    (" of a mapping advised MADV_SEQUENTIAL", MapFlag.SEQUENTIAL),
    (" of a mapping advised MADV_RANDOM", MapFlag.RANDOM),
)


def programs(page_size: int) -> list[Task]:
    """Return the programs for a board of that page size; always the same."""
    make = partial(Task, page_size=page_size)
    return [*_reads(make), *_advised(make), *_faults(make), *_mixed(make), *_random(make)]


_Make = Callable[[str, int], Task]


def _reads(make: _Make) -> Iterator[Task]:
    for name, length, count in (
        ("single pages", 1, 100),
        ("pieces of two pages", 2, 60),
        ("pieces of eight pages", 8, 40),
        ("pieces of 64 pages", 64, 10),
    ):
        task = make(f"reads in order, {name}", LARGE)
        _read_on(task, task.open(), 0, length * task.page_size, count)
        yield task
    task = make("reads in order, pieces of 5,000 bytes", MEDIUM)
    _read_on(task, task.open(), 0, 5000, 90)
    yield task
    task = make("one read of the whole file", LARGE)
    task.read(task.open(), 0, LARGE)
    yield task
    task = make("a small file, read to its end", SMALL)
    _read_on(task, task.open(), 0, 4000, 4)
    yield task
    task = make("a file of one byte", 1)
    task.read(task.open(), 0, 4096)
    yield task
    task = make("reads in order from the middle on", LARGE)
    _read_on(task, task.open(), task.pages // 2 * task.page_size, task.page_size, 60)
    yield task
    for name, stride in (
        ("every second page", 2),
        ("every third page", 3),
        ("every 20th page", 20),
        ("backwards", -1),
    ):
        task = make(f"reads {name}", LARGE)
        handle = task.open()
        for page in _strided(task, stride, 30):
            task.read(handle, page * task.page_size, task.page_size)
        yield task
    yield _at_the_end(make)
    yield _two_streams(make, handles=1)
    yield _two_streams(make, handles=2)
    yield from _odd_reads(make)


def _at_the_end(make: _Make) -> Task:
    """Before 5.16 a read at the end of a file of whole pages adds an empty page after it."""
    page_size = make("", 1).page_size
    task = make("reads at the end of the file and after it", 10 * page_size)
    handle = task.open()
    for page in (9, 10, 10, 3, 13, 4):
        task.read(handle, page * page_size, page_size)
    return task


def _odd_reads(make: _Make) -> Iterator[Task]:
    """Reads that end and begin within pages or at their borders: which page was the last one?"""
    dice = random.Random(_ODD_SEED)
    for number in range(1, ODD_PROGRAMS + 1):
        task = make(f"reads of odd sizes and gaps, {number}", MEDIUM)
        handle, at = task.open(), 0
        for _ in range(25):
            length = dice.choice((100, 4096, 5000, 8192, 3 * 4096, 20_000))
            if 0 <= at < task.size:
                task.read(handle, at, length)
            gaps = (length, length + 4096, length + 8192, -length, 4096, 8192, length // 2)
            at += dice.choice(gaps)
        yield task


def _two_streams(make: _Make, handles: int) -> Task:
    what = "one descriptor" if handles == 1 else "two descriptors"
    task = make(f"two streams of reads in turn, through {what}", LARGE)
    opened = [task.open() for _ in range(handles)]
    half = task.pages // 2
    for page in range(min(30, half)):
        task.read(opened[0], page * task.page_size, task.page_size)
        task.read(opened[-1], (half + page) * task.page_size, task.page_size)
    return task


def _advised(make: _Make) -> Iterator[Task]:
    for op in (Op.RANDOM, Op.SEQUENTIAL):
        task = make(f"reads in order after POSIX_FADV_{op.name}", MEDIUM)
        handle = task.open()
        task.advise(op, handle)
        _read_on(task, handle, 0, task.page_size, 50)
        yield task
    task = make("POSIX_FADV_WILLNEED for a part of the file, then reads", MEDIUM)
    handle = task.open()
    task.advise(Op.WILLNEED, handle, task.pages // 4, max(1, task.pages // 3))
    _read_on(task, handle, 0, task.page_size, 60)
    yield task


def _faults(make: _Make) -> Iterator[Task]:
    for name, flags in _NAMED_MAPPINGS:
        task = make(f"touches the pages{name} in order", MEDIUM)
        mapping = task.map(task.open(), flags=flags)
        for page in range(task.pages):
            task.touch(mapping, page)
        yield task
    for name, stride in (("every 17th page", 17), ("backwards", -1)):
        task = make(f"touches {name}", LARGE)
        mapping = task.map(task.open())
        for page in _strided(task, stride, 60):
            task.touch(mapping, page)
        yield task
    for name, flags in _NAMED_MAPPINGS[:3]:
        task = make(f"touches random pages{name}", LARGE)
        mapping = task.map(task.open(), flags=flags)
        for page in random.Random(len(name)).sample(range(task.pages), min(task.pages, 120)):
            task.touch(mapping, page)
        yield task
    task = make("touches a mapping of the file's middle", LARGE)
    third = task.pages // 3
    mapping = task.map(task.open(), third, third, MapFlag.EXEC)
    for page in range(third, 2 * third, 5):
        task.touch(mapping, page)
    yield task
    task = make("writes to pages of a private mapping", MEDIUM)
    mapping = task.map(task.open())
    for page in _strided(task, 7, 20):
        task.touch(mapping, page, write=True)
    yield task


def _misses(make: _Make) -> Task:
    """More misses than are read around, and mapped pages that lower their count (3.15, 4.9, 7.2).

    Only writes add to the count before 7.2: after other faults the page is mapped around.
    """
    task = make("writes to more than 100 far pages, touches mapped ones between", MISSED)
    mapping = task.map(task.open())
    reader = task.open()
    task.advise(Op.RANDOM, reader)  # reads these pages, and none ahead of them
    task.read(reader, 0, 64 * task.page_size)
    for page in range(1, 32, 2):
        task.touch(mapping, page, write=True)
    last = task.pages - 80
    for page in range(64, last, 5)[:_MANY_MISSES]:
        task.touch(mapping, page, write=True)
    for row, page in enumerate(range(last + 10, task.pages, 10)):
        task.touch(mapping, row * 16)
        task.touch(mapping, page, write=True)
    return task


def _mixed(make: _Make) -> Iterator[Task]:
    if make("", MISSED).pages > 400:  # with larger pages the files would have to be larger
        yield _misses(make)
    task = make("touches pages, then reads through the same descriptor", MEDIUM)
    handle = task.open()
    mapping = task.map(handle)
    for page in range(0, task.pages // 2, 6):
        task.touch(mapping, page)
    _read_on(task, handle, task.pages // 4 * task.page_size, task.page_size, 50)
    yield task
    task = make("reads, then touches pages through the same descriptor", MEDIUM)
    handle = task.open()
    mapping = task.map(handle)
    _read_on(task, handle, 0, task.page_size, 20)
    for page in range(10, task.pages, 9):
        task.touch(mapping, page)
    yield task


def _random(make: _Make) -> Iterator[Task]:
    dice = random.Random(_SEED)
    for number in range(1, RANDOM_PROGRAMS + 1):
        task = make(f"random program {number}", dice.choice((SMALL, MEDIUM, MEDIUM, LARGE)))
        handles = [task.open() for _ in range(dice.randint(1, 2))]
        for _ in range(dice.randint(0, 1)):
            start = dice.randrange(task.pages)
            flags = dice.choice(_NAMED_MAPPINGS)[1]
            pages = dice.randint(1, task.pages - start)
            task.map(dice.choice(handles), start, pages, flags)
        for _ in range(dice.randint(4, 8)):
            _random_part(task, dice, dice.choice(handles))
        yield task


def _random_part(task: Task, dice: random.Random, handle: int) -> None:
    kind = dice.choice(("read", "advise", "touch", "touch"))
    first = dice.randrange(task.pages)
    if kind == "advise":
        advice = dice.choice((Op.NORMAL, Op.SEQUENTIAL, Op.RANDOM, Op.WILLNEED))
        task.advise(advice, handle, first, dice.randint(1, task.pages - first))
    elif kind == "read" or not task.mappings:
        length = dice.choice((100, 4096, 5000, 8192, 8 * 4096, 32 * 4096, 100 * 4096))
        at = dice.choice((0, first * task.page_size, dice.randrange(task.size)))
        _read_on(task, handle, at, length, dice.choice((1, 3, 8)))
    else:
        mapping = dice.randrange(len(task.mappings))
        _, start, pages, flags = task.mappings[mapping]
        page, stride = start + dice.randrange(pages), dice.choice((1, 1, 2, 5, 20, -1, -7))
        may_write = not flags & (MapFlag.EXEC | MapFlag.SHARED)
        write = may_write and dice.random() < 0.2
        for _ in range(dice.choice((1, 3, 10, 30))):
            if start <= page < start + pages:
                task.touch(mapping, page, write)
            page += stride


def _read_on(task: Task, handle: int, at: int, length: int, count: int) -> None:
    """Read ``count`` pieces one after another, up to the end of the file."""
    for _ in range(count):
        if at < task.size:
            task.read(handle, at, length)
        at += length


def _strided(task: Task, stride: int, count: int) -> range:
    """Return at most ``count`` pages of a file, by stride; a negative stride begins at the end."""
    if stride < 0:
        return range(task.pages - 1, -1, stride)[:count]
    return range(0, task.pages, stride)[:count]
