"""A writer of newc cpio archives, for initramfs.

Format: Documentation/driver-api/early-userspace/buffer-format.rst; the kernel unpacks several
archives, one after the other.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass

DIRECTORY = stat.S_IFDIR | 0o755
FILE = stat.S_IFREG | 0o644
PRIVATE = stat.S_IFREG | 0o600
PROGRAM = stat.S_IFREG | 0o755
LINK = stat.S_IFLNK | 0o777
CONSOLE = stat.S_IFCHR | 0o600


@dataclass(frozen=True)
class Entry:
    """A file to archive: its mode, its content (a link's target), a device's major and minor."""

    mode: int
    content: bytes = b""
    device: tuple[int, int] = (0, 0)


def archive(entries: Mapping[str, Entry]) -> bytes:
    """Return the archive, which is deterministic; folders must come before their content."""
    members = [_member(n, name, entry) for n, (name, entry) in enumerate(entries.items(), 1)]
    return _padded(b"".join([*members, _member(0, "TRAILER!!!", Entry(0))]), 512)


def _member(inode: int, name: str, entry: Entry) -> bytes:
    path = name.encode() + b"\0"
    fields = [inode, entry.mode, 0, 0, 1, 0, len(entry.content), 0, 0, *entry.device, len(path), 0]
    header = b"070701" + b"".join(b"%08X" % field for field in fields)
    return _padded(header + path, 4) + _padded(entry.content, 4)


def _padded(data: bytes, multiple: int) -> bytes:
    return data + bytes(-len(data) % multiple)
