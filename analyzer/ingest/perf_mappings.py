"""File mappings and tasks, from perf's records other than samples.

Layout: PERF_RECORD_MMAP, MMAP2, COMM and FORK in include/uapi/linux/perf_event.h.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from foreread.analyzer.ingest.cursor import Cursor, ShortData
from foreread.analyzer.ingest.formats import ByteOrder
from foreread.analyzer.ingest.tables import MINOR_BITS, Array

_MMAP, _COMM, _FORK, _MMAP2 = 1, 3, 7, 10
_MISC_BUILD_ID = 1 << 14  # PERF_RECORD_MISC_MMAP_BUILD_ID: no inode but a build id


@dataclass(frozen=True)
class Mapping:
    """A mapping; ``addr``, ``length`` and ``pgoff`` in bytes. PERF_RECORD_MMAP has no inode.

    A library that is reserved whole and mapped over in parts later shows the ``length`` of its
    first mmap.
    """

    pid: int
    tid: int
    addr: int
    length: int
    pgoff: int
    dev: int | None  # major << 20 | minor
    ino: int | None
    prot: int | None
    flags: int | None
    path: str  # undecodable bytes as surrogate escapes


@dataclass(frozen=True)
class Task:
    """A thread's name (``name`` is set: PERF_RECORD_COMM) or its birth (PERF_RECORD_FORK)."""

    pid: int
    tid: int
    parent_pid: int | None
    parent_tid: int | None
    name: str | None


def mappings(records: memoryview | Array, side: Array, byte_order: ByteOrder) -> list[Mapping]:
    """Return the mappings among the records at offsets ``side`` (u8)."""
    mapped = []
    for kind, misc, cursor in _records(records, side, byte_order):
        if kind in (_MMAP, _MMAP2):
            try:
                mapped.append(_mapping(kind, misc, cursor))
            except ShortData:
                continue  # a damaged record has no name
    return mapped


def tasks(records: memoryview | Array, side: Array, byte_order: ByteOrder) -> list[Task]:
    """Return names and forks among the records at offsets ``side`` (u8)."""
    named = []
    for kind, _, cursor in _records(records, side, byte_order):
        try:
            if kind == _COMM:
                pid, tid = cursor.numbers("II")
                named.append(Task(pid, tid, None, None, _text(cursor.string())))
            elif kind == _FORK:
                pid, parent, tid, parent_tid = cursor.numbers("IIII")
                named.append(Task(pid, tid, parent, parent_tid, None))
        except ShortData:
            continue
    return named


def paths(mapped: Iterable[Mapping]) -> dict[tuple[int, int], str]:
    """Return paths by (dev_t, inode) of the mappings that have both; the first name stays."""
    by_inode: dict[tuple[int, int], str] = {}
    for m in mapped:
        if m.dev is not None and m.ino and m.path.startswith("/"):
            by_inode.setdefault((m.dev, m.ino), m.path)
    return by_inode


def _records(
    records: memoryview | Array, side: Array, byte_order: ByteOrder
) -> Iterator[tuple[int, int, Cursor]]:
    """Yield type, misc and body of each record; the walk has checked that they lie within."""
    data = memoryview(records)  # type: ignore[arg-type]  # numpy 1 arrays are buffers too
    for offset in side.tolist():
        kind, misc, size = Cursor(data[offset : offset + 8], byte_order).numbers("IHH")
        yield kind, misc, Cursor(data[offset + 8 : offset + size], byte_order)


def _mapping(kind: int, misc: int, cursor: Cursor) -> Mapping:
    pid, tid, addr, length, pgoff = cursor.numbers("IIQQQ")
    dev = ino = prot = flags = None
    if kind == _MMAP2:
        major, minor, inode, _generation, prot, flags = cursor.numbers("IIQQII")
        if not misc & _MISC_BUILD_ID:
            dev, ino = major << MINOR_BITS | minor, inode
    return Mapping(pid, tid, addr, length, pgoff, dev, ino, prot, flags, _text(cursor.string()))


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
