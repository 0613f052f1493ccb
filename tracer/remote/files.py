"""Paths and sizes of the inodes in a trace, looked for by the target on its file systems."""

from __future__ import annotations

import os
import re
import tempfile
import time

import msgspec

from foreread.boards.mounts import MountPoint, visible_roots
from foreread.tracer.error import RecordError
from foreread.tracer.formats.capture import FileEntry, Segment
from foreread.tracer.remote.job import STEP_S, Job
from foreread.tracer.runs.elf import segments_of
from foreread.tracer.runs.recording import search_cut
from foreread.tracer.runs.residency import Inode

SEARCH_S = 60.0
CUT = "the search was cut"  # becomes a note once it is known how many are missing
_MOST_INODES = 1000  # in one search: the length of a command line is limited
_FOUND = re.compile(rb"(\d{1,20}) (\d{1,19}) (ELF|LINK|-) (/.*)", re.S)
_HEAD_BYTES = 4096  # of an ELF file: its program headers are in there
_MOST_HEADS = 64


def find_files(
    job: Job,
    inodes: set[Inode],
    mounts: list[MountPoint],
    named: dict[Inode, str],
    search_s: float = SEARCH_S,
) -> tuple[list[FileEntry], list[str]]:
    """Return an entry for every inode, and notes on what was not searched.

    ``named`` paths of mapped files are used where the search finds none; their size is unknown.
    """
    entries = {
        inode: FileEntry(dev=inode[0], ino=inode[1], path=named.get(inode), size_bytes=-1)
        for inode in inodes
    }
    notes: list[str] = []
    programs: list[Inode] = []
    end_s = time.monotonic() + search_s
    for dev in sorted({dev for dev, _ in inodes}):
        for root in visible_roots(dev, mounts):
            wanted = sorted(ino for d, ino in inodes if d == dev and entries[d, ino].size_bytes < 0)
            for at in range(0, len(wanted), _MOST_INODES):
                limit_s = max(1, round(end_s - time.monotonic()))
                some = wanted[at : at + _MOST_INODES]
                programs += _search(job, root, dev, some, entries, notes, limit_s)
    _add_segments(job, entries, programs)
    files = [entries[inode] for inode in sorted(entries)]
    all_notes = [search_cut(files, search_s) if note == CUT else note for note in notes]
    return files, list(dict.fromkeys(all_notes))


def _add_segments(job: Job, entries: dict[Inode, FileEntry], programs: list[Inode]) -> None:
    """Determine the mapped parts of programs and libraries from the beginnings of the files."""
    for at in range(0, len(programs), _MOST_HEADS):
        some = programs[at : at + _MOST_HEADS]
        paths = [entries[inode].path or "" for inode in some]
        step = "looking into programs and libraries"
        heads = job.raw("heads", str(_HEAD_BYTES), *paths, step=step).stdout
        if len(heads) != len(some) * _HEAD_BYTES:
            raise RecordError(f"{step}: the reply was truncated", "record again")
        for number, inode in enumerate(some):
            head = heads[number * _HEAD_BYTES : (number + 1) * _HEAD_BYTES]
            segments = [Segment(*segment) for segment in _segments(head)]
            entries[inode] = msgspec.structs.replace(entries[inode], segments=segments)


def _segments(head: bytes) -> list[tuple[int, int, bool, bool]]:
    with tempfile.TemporaryFile() as file:
        file.write(head)
        file.flush()
        return segments_of(file.fileno())


def _search(
    job: Job,
    root: str,
    dev: str,
    wanted: list[int],
    entries: dict[Inode, FileEntry],
    notes: list[str],
    limit_s: int,
) -> list[Inode]:
    """Complete the entries of files found below ``root``; return the ELF files among them."""
    done = job.raw(
        "find_inodes",
        str(limit_s),
        root,
        *map(str, wanted),
        step=f"looking for files below {root}",
        timeout_s=limit_s + STEP_S,
    )
    status = done.stderr.strip()
    if status == b"cut":
        notes.append(CUT)
    elif status == b"lacking":
        notes.append("the target's find knows no -inum: paths of files that were read are missing")
    elif not re.fullmatch(rb"\d{1,3}", status):
        raise RecordError(
            f"the search for files below {root} was cut off", "check that the target is reachable"
        )
    programs = []
    for match in filter(None, map(_FOUND.fullmatch, done.stdout.split(b"\0"))):
        inode = dev, int(match[1])
        if inode in entries:
            path, size = os.fsdecode(match[4]), int(match[2])
            link = match[3] == b"LINK"
            entries[inode] = FileEntry(dev=dev, ino=inode[1], path=path, size_bytes=size, link=link)
            programs += [inode] if match[3] == b"ELF" else []
    return programs
