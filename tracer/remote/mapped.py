"""The file pages that a target's processes had mapped just before a run.

drop_caches keeps these and hardly any others. The target sends /proc/PID/maps and pagemap as they
are (Documentation/admin-guide/mm/pagemap.rst); they are not trusted.
"""

from __future__ import annotations

import os
import re
import sys
from array import array
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from foreread.tracer.remote.job import Job
from foreread.tracer.remote.machine import Machine
from foreread.tracer.runs.cold import parse_mapping
from foreread.tracer.runs.residency import Inode, Runs, runs_of

MAPPED_S = 60  # how long the target may take, of its own time
UNKNOWN_PAGES = (
    "the pages that stayed cached are unknown: the kernel has no /proc/PID/pagemap "
    f"(CONFIG_PROC_PAGE_MONITOR), reading it took more than {MAPPED_S} s, or its contents were "
    "incomplete"
)
_ENTRY = 8  # bytes a page
_PRESENT = 1 << 63 | 1 << 61  # in memory, and a page of a file
_PIECE = re.compile(r"(\d{1,10}) (\d{1,16}) (\d{1,12})")
_READ = re.compile(r"(\d{1,12})\+(\d{1,12}) records out")
_HEX = "([0-9a-f]{1,16})"
_MAP = re.compile(rf"/proc/(\d{{1,10}})/maps:{_HEX}-{_HEX} \S+ {_HEX} .*")
Pieces: TypeAlias = "dict[str, list[tuple[int, array[int]]]]"  # by process: first page, entries


@dataclass(frozen=True)
class Mapped:
    """The mapped pages, and the paths, of files."""

    pages: dict[Inode, Runs]
    paths: dict[Inode, str]


def mapped_pages(job: Job, machine: Machine) -> Mapped | None:
    """Return the pages by file; None if the kernel does not report them, or it took too long."""
    step = "fetching which pages are mapped"
    maps, pieces, pagemap = (
        job.raw("noted", name, step=step).stdout for name in ("maps", "pieces", "pagemap")
    )
    text = os.fsdecode(maps)
    try:
        pages = parse_mapped(
            text, os.fsdecode(pieces), pagemap, machine.page_size, machine.byte_order
        )
    except ValueError:  # a process may end while its entries are read
        return None
    return None if pages is None else Mapped(pages, paths_of(text))


def paths_of(maps: str) -> dict[Inode, str]:
    """Return the paths of mapped files."""
    return dict(
        mapping
        for line in maps.split("\n")
        if _MAP.fullmatch(line) and (mapping := parse_mapping(line.partition(":")[2]))
    )


def parse_mapped(
    maps: str, pieces: str, pagemap: bytes, page_size: int, byte_order: str
) -> dict[Inode, Runs] | None:
    """Return the pages by file; ValueError if the answer is incomplete."""
    lines = pieces.splitlines()
    if lines[-1:] != ["all"]:
        return None
    read = _pieces(lines, pagemap, byte_order)
    by_file: defaultdict[Inode, set[int]] = defaultdict(set)
    for line in maps.split("\n"):
        match, mapping = _MAP.fullmatch(line), parse_mapping(line.partition(":")[2])
        if match is None or mapping is None:
            continue
        first, end, offset = (int(match[at], 16) // page_size for at in (2, 3, 4))
        present = _present(read.get(match[1], []), first, end)
        by_file[mapping[0]].update(offset + page - first for page in present)
    return {inode: runs_of(pages) for inode, pages in by_file.items()}


def _pieces(lines: list[str], pagemap: bytes, byte_order: str) -> Pieces:
    """Return the data of each piece; empty for processes that had ended."""
    by_process: defaultdict[str, list[tuple[int, array[int]]]] = defaultdict(list)
    starts = [at for at, line in enumerate(lines) if _PIECE.fullmatch(line)]
    done = 0
    for at, end in pairwise([*starts, len(lines)]):
        process, first, pages = lines[at].split(" ")
        read = next(filter(None, map(_READ.match, lines[at:end])), None)
        if read is None or read[1] == "0":
            continue
        blocks, part = int(read[1]), int(read[2])
        size = _block(int(first), int(pages))
        if part or not 0 < blocks * size <= min(int(pages) * _ENTRY, len(pagemap) - done):
            raise ValueError(f"{read[0]} of {lines[at]}")
        entries = array("Q", pagemap[done : done + blocks * size])
        done += blocks * size
        if byte_order != sys.byteorder:
            entries.byteswap()
        by_process[process].append((int(first), entries))
    if done != len(pagemap):
        raise ValueError(f"{len(pagemap) - done} bytes too many")
    return {
        process: sorted(some, key=lambda piece: piece[0]) for process, some in by_process.items()
    }


def _block(first: int, pages: int) -> int:
    """Return the bytes of dd's blocks, as record.sh chooses them."""
    size = _ENTRY
    while first % 2 == 0 == pages % 2 and size < 4096:
        first, pages, size = first // 2, pages // 2, size * 2
    return size


def _present(pieces: list[tuple[int, array[int]]], first: int, end: int) -> list[int]:
    """Return which virtual pages of [first, end), all in one piece, are mapped."""
    row = bisect_right(pieces, first, key=lambda piece: piece[0]) - 1
    if row < 0:
        return []
    start, entries = pieces[row]
    low, high = first - start, min(end - start, len(entries))
    return [start + at for at in range(low, high) if entries[at] & _PRESENT == _PRESENT]
