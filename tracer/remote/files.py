"""Paths and sizes of the inodes in a trace, looked for by the target on its file systems."""

from __future__ import annotations

import os
import re
import time

from boards.mounts import MountPoint
from tracer.backends.base import RecordError
from tracer.capture import FileEntry
from tracer.files import Inode, visible_roots
from tracer.remote.job import STEP_S, Job

SEARCH_S = 60
_MOST_INODES = 1000  # in one search: a command line has an end
_FOUND = re.compile(rb"(\d{1,20}) (\d{1,19}) (/.*)", re.S)


def find_files(
    job: Job, inodes: set[Inode], mounts: list[MountPoint], known: dict[Inode, str]
) -> tuple[list[FileEntry], list[str]]:
    """Return an entry for every inode, and notes on what was not searched.

    ``known`` paths of mapped files are used where the search finds none; their size is unknown.
    """
    entries = {
        inode: FileEntry(dev=inode[0], ino=inode[1], path=known.get(inode), size_bytes=-1)
        for inode in inodes
    }
    notes: list[str] = []
    end_s = time.monotonic() + SEARCH_S
    for dev in sorted({dev for dev, _ in inodes}):
        for root in visible_roots(dev, mounts):
            wanted = sorted(ino for d, ino in inodes if d == dev and entries[d, ino].size_bytes < 0)
            for at in range(0, len(wanted), _MOST_INODES):
                limit_s = max(1, round(end_s - time.monotonic()))
                _search(job, root, dev, wanted[at : at + _MOST_INODES], entries, notes, limit_s)
    return [entries[inode] for inode in sorted(entries)], list(dict.fromkeys(notes))


def _search(
    job: Job,
    root: str,
    dev: str,
    wanted: list[int],
    entries: dict[Inode, FileEntry],
    notes: list[str],
    limit_s: int,
) -> None:
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
        notes.append("the search for the paths of files was cut: some are missing")
    elif status == b"lacking":
        notes.append("the target's find knows no -inum: paths of files that were read are missing")
    elif not re.fullmatch(rb"\d{1,3}", status):
        raise RecordError(
            f"the search for files below {root} was cut off", "see that the target is in reach"
        )
    for record in done.stdout.split(b"\0"):
        if (match := _FOUND.fullmatch(record)) and (dev, int(match[1])) in entries:
            entries[dev, int(match[1])] = FileEntry(
                dev=dev, ino=int(match[1]), path=os.fsdecode(match[3]), size_bytes=int(match[2])
            )
