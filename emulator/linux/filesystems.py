"""Readahead rules of specific file systems."""

from __future__ import annotations

from foreread.emulator.linux.rules import Version

# Regular files in large folios, from which kernel on (mapping_set_large_folios).
_LARGE_FOLIOS: dict[str, Version] = {
    "xfs": (5, 18),
    "erofs": (6, 2),
    "nfs": (6, 6),
    "nfs4": (6, 6),
    "ext4": (6, 17),
    "btrfs": (6, 17),
}
# ubifs_bdi and mtd_bdi have no window, whatever read_ahead_kb is.
WITHOUT_WINDOW = frozenset({"ubifs", "jffs2"})
SQUASHFS_BLOCK = 128 << 10  # bytes: the default of mksquashfs
SQUASHFS_LARGEST_BLOCK = 1 << 20  # bytes: SQUASHFS_FILE_MAX_SIZE, fs/squashfs/squashfs_fs.h


# Until 5.10 the backing device of a file system has no largest request (bdi->io_pages is 0).
_OWN_IO_BYTES, _OWN_IO_SINCE = 128 << 10, (5, 10)


def own_io_pages(version: Version, page_size: int) -> int:
    """Return up to how many pages a read grows the window of a file system's own backing device.

    That is VM_READAHEAD_PAGES, whatever the disks below take (bdi_alloc, mm/backing-dev.c).
    """
    return _OWN_IO_BYTES // page_size if version >= _OWN_IO_SINCE else 0


def large_folios_since(fstype: str) -> Version | None:
    """Return the kernel from which on files can be in large folios; None if in none."""
    return _LARGE_FOLIOS.get(fstype)


def has_large_folios(fstype: str, options: str, version: Version) -> bool:
    """Return whether a kernel with transparent huge pages keeps files in large folios.

    ``options`` are the mount's: ext4 does without them if it journals data.
    """
    if fstype not in _LARGE_FOLIOS or "data=journal" in options.split(","):
        return False
    return version >= _LARGE_FOLIOS[fstype]
