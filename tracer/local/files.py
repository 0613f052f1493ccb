"""Paths and sizes of the inodes in a trace, looked for on their file systems after the run.

Most paths come from the kernel (handles.py). For the rest a directory walk compares inode numbers
from the directory entries themselves, so that only hits are looked up. Mounts are not crossed.
Deleted files, and files hidden under another mount, get no path.
"""

from __future__ import annotations

import os
import stat
import time
from collections import Counter, deque
from contextlib import suppress
from pathlib import Path

import msgspec

from foreread.boards.base.apart import apart
from foreread.boards.mounts import MountPoint, mount_of, visible_roots
from foreread.tracer.formats.capture import Extent, FileEntry, Segment
from foreread.tracer.local.handles import paths_by_handle
from foreread.tracer.runs.elf import segments_of
from foreread.tracer.runs.extents import extents_of, open_regular
from foreread.tracer.runs.residency import Inode

SEARCH_S = 20.0
# If the kernel reports paths, a file without one is hardly the command's, which has just looked up
# its files. The others were read or written by other processes.
_REST_S = 0.3


def find_files(
    inodes: set[Inode],
    mounts: list[MountPoint],
    named: dict[Inode, str],
    limit_s: float = SEARCH_S,
) -> tuple[list[FileEntry], bool]:
    """Return an entry for every inode, and whether the search was complete.

    ``named`` are paths that need no search; it is cut after ``limit_s`` seconds, shared among the
    file systems, so that a large one that others read does not use up the time of small ones. It
    begins on the file system with the most wanted inodes.
    """
    end = time.monotonic() + limit_s
    paths = {inode: named[inode] for inode in inodes if inode in named}
    complete = True
    devs = [dev for dev, _ in Counter(dev for dev, _ in sorted(inodes)).most_common()]
    for left, dev in zip(range(len(devs), 0, -1), devs, strict=True):
        now = time.monotonic()
        deadline = now + (end - now) / left
        wanted = {ino for found_dev, ino in inodes if found_dev == dev and (dev, ino) not in paths}
        fstype = next((mount.fstype for mount in mounts if mount.dev == dev), "")
        for root in visible_roots(dev, mounts):
            by_handle, gone = paths_by_handle(root, fstype, sorted(wanted))
            by_handle = {
                ino: path for ino, path in by_handle.items() if _is_seen(path, dev, mounts)
            }
            paths |= {(dev, ino): path for ino, path in by_handle.items()}
            wanted -= gone | by_handle.keys()
            deadline = min(deadline, time.monotonic() + _REST_S) if by_handle else deadline
            complete &= _walk(root, dev, wanted, paths, mounts, deadline)
    # Apart: the command may read a database that this process has locked.
    entries = apart(lambda: [_entry(inode, paths.get(inode)) for inode in sorted(inodes)])
    return entries, complete


def _is_seen(path: str, dev: str, mounts: list[MountPoint]) -> bool:
    """Return whether a path leads to this file system, and not to one that is mounted over it."""
    mount = mount_of(Path(path), mounts, follow=False)
    return mount is not None and mount.dev == dev


def _walk(
    root: str,
    dev: str,
    wanted: set[int],
    paths: dict[Inode, str],
    mounts: list[MountPoint],
    deadline: float,
) -> bool:
    """Look for ``wanted`` below ``root``, and remove those found; False if time ran out."""
    other_mounts = {mount.mountpoint for mount in mounts} - {root}
    waiting = deque([root])
    while waiting and wanted:
        if time.monotonic() > deadline:
            return False
        for entry in _entries(waiting.popleft()):
            if entry.path in other_mounts:
                continue
            if entry.inode() in wanted:
                wanted.discard(entry.inode())
                paths[dev, entry.inode()] = entry.path
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
    return True


def _entries(directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError:
        return []  # removed meanwhile, or its disk cannot be read


def _entry(inode: Inode, path: str | None) -> FileEntry:
    dev, ino = inode
    nothing = FileEntry(dev=dev, ino=ino, path=path, size_bytes=-1)
    if path is None:
        return nothing
    try:
        status = Path(path).lstat()
    except OSError:
        return msgspec.structs.replace(nothing, path=None)  # deleted since
    link = stat.S_ISLNK(status.st_mode)
    entry = msgspec.structs.replace(nothing, size_bytes=status.st_size, link=link)
    return _with_layout(entry, path) if stat.S_ISREG(status.st_mode) else entry


def _with_layout(entry: FileEntry, path: str) -> FileEntry:
    """Add the file's extents and mapped segments, as far as they can be determined."""
    extents, segments = None, []
    with suppress(OSError), open_regular(path) as descriptor:
        segments = [Segment(*segment) for segment in segments_of(descriptor)]
        extents = [Extent(*extent) for extent in extents_of(descriptor)]
    return msgspec.structs.replace(entry, extents=extents, segments=segments)
