"""Lists of a board's files, which give another tool's trace paths and sizes.

``find / -xdev -printf '%D %i %s %p\\n'`` writes the device (st_dev), inode, size and path of each
file; with ``\\0`` for ``\\n`` also of files with a newline in their name. A capture's files.json is
such a list, too. Both may come from anybody.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from foreread.analyzer.ingest.accesses import group_pairs
from foreread.analyzer.ingest.allowance import grant
from foreread.analyzer.ingest.inserts import of_block_device
from foreread.analyzer.ingest.recording import Trace, TraceError
from foreread.analyzer.ingest.tables import MINOR_BITS, Kind, Table
from foreread.boards.base.bounded import open_regular
from foreread.boards.base.counted import plural
from foreread.emulator.linux.filesystems import SQUASHFS_LARGEST_BLOCK
from foreread.tracer.formats.capture import FileEntry, dev_of, dev_text, read_files
from foreread.tracer.formats.limits import MOST_INODES_BYTES, check_size

Inode = tuple[int, int]  # dev_t, inode number

FORM = "find / -xdev -printf '%D %i %s %p\\n'"
_LINE = re.compile(rb"(\d{1,20}) (\d{1,20}) (\d{1,18}) (/[^\0]{0,4095})", re.S)
_NARROW = "list fewer files: the file systems and folders of the application"


@dataclass
class InodeList:
    """The entries of a list for the inodes of a trace, and what to say of the others."""

    entries: dict[Inode, FileEntry] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def read_inodes(path: Path, trace: Trace) -> InodeList:
    """Return the entries of a list for the inodes of a trace.

    Raises TraceError for another kind of file, LimitError for one that is too large, and
    OSError if it cannot be read.
    """
    inserts = trace.events.take(trace.events["kind"] == Kind.INSERT)
    inserts = inserts.take(~of_block_device(trace.events, inserts))
    first, _ = group_pairs(inserts["dev"], inserts["ino"])
    inodes = inserts.take(first)
    wanted = set(zip(inodes["dev"].tolist(), inodes["ino"].tolist(), strict=True))
    return _without_changed(_listed(path, wanted), inserts, trace.page_size or 4096)


def _listed(path: Path, wanted: set[Inode]) -> InodeList:
    """Return the entries of a list for the ``wanted`` inodes."""
    with open_regular(path) as file:
        size = path.stat().st_size
        check_size(str(path), size, MOST_INODES_BYTES, _NARROW)
        grant(size)
        first = file.read(1)
        if first == b"[":
            return _of_capture(path, wanted)
        data = first + file.read(MOST_INODES_BYTES)
    listed = _Lines(wanted)
    separator = b"\0" if b"\0" in data else b"\n"
    for line in data.removesuffix(separator).split(separator):
        listed.add(line)
    if not listed.lines:
        raise TraceError(f"{path} is not a list of inodes", f"make it on the board: {FORM}")
    return InodeList(listed.entries, [*listed.notes(path.name)])


def _of_capture(path: Path, wanted: set[Inode]) -> InodeList:
    """Return the entries of a capture's files.json."""
    entries = {_inode(entry): entry for entry in read_files(path)}
    return InodeList({inode: entry for inode, entry in entries.items() if inode in wanted})


def _inode(entry: FileEntry) -> Inode:
    return dev_of(entry.dev), entry.ino


class _Lines:
    """The lines of a list, one after another."""

    def __init__(self, wanted: set[Inode]) -> None:
        self.entries: dict[Inode, FileEntry] = {}
        self.lines = 0
        self._wanted = wanted
        self._devices: set[int] = set()
        self._unread = 0
        self._unlike: set[Inode] = set()  # listed with several sizes
        self._last: Inode | None = None

    def add(self, line: bytes) -> None:
        """Take a line; an invalid line continues a path with a newline in it."""
        match = _LINE.fullmatch(line)
        device, inode, size = (int(number) for number in match.groups()[:3]) if match else (0, 0, 0)
        if match is None or device >> 64 or inode >> 64:
            self._unread += 1
            self.entries.pop(self._last, None) if self._last else None
            return
        self.lines += 1
        dev = os.major(device) << MINOR_BITS | os.minor(device)
        self._devices.add(dev)
        self._last = (dev, inode)
        if self._last not in self._wanted:
            return
        before = self.entries.get(self._last)
        if before is None:
            path = os.fsdecode(match[4])
            self.entries[self._last] = FileEntry(
                dev=dev_text(dev), ino=inode, path=path, size_bytes=size
            )
        elif before.size_bytes != size:
            self._unlike.add(self._last)

    def notes(self, name: str) -> Iterator[str]:
        """Yield what is left out, and what the list lacks; leaves it out."""
        for inode in self._unlike:
            self.entries.pop(inode, None)
        if self._unlike:
            files = plural(len(self._unlike), "file", "is")
            yield f"{name}: {files} listed with several sizes, and left out"
        if self._unread:
            yield (
                f"{name}: {plural(self._unread, 'line', 'is')} not 'DEVICE INODE SIZE PATH' and "
                "left out, and so is the path before; write \\0 for \\n where paths have newlines"
            )
        missing = sorted({dev for dev, _ in self._wanted} - self._devices)
        if missing:
            shown = ", ".join(map(dev_text, missing[:4]))
            yield f"{name} has no file of {shown}{' …' if len(missing) > 4 else ''}"


def _without_changed(listed: InodeList, inserts: Table, page_size: int) -> InodeList:
    """Return a list without the files that were longer when the trace read them.

    squashfs also inserts the pages of a block that come after the end of a file.
    """
    last: dict[Inode, int] = {}
    columns = (inserts[name].tolist() for name in ("dev", "ino", "index"))
    for dev, ino, page in zip(*columns, strict=True):
        last[dev, ino] = max(last.get((dev, ino), 0), page)
    kept = {
        inode: entry
        for inode, entry in listed.entries.items()
        if entry.size_bytes < 0 or last.get(inode, 0) * page_size <= _end_of_block(entry.size_bytes)
    }
    changed = len(listed.entries) - len(kept)
    if changed:
        files = plural(changed, "file", "is")
        listed.notes.append(f"{files} shorter in the list than the trace read, and left out")
    return InodeList(kept, listed.notes)


def _end_of_block(size: int) -> int:
    """Return where a file of this size (bytes) ends if it fills its last block."""
    return -(-size // SQUASHFS_LARGEST_BLOCK) * SQUASHFS_LARGEST_BLOCK
