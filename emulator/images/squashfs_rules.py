"""The rules of a kernel for reads of squashfs: its memory in addition to the page cache."""

from __future__ import annotations

from dataclasses import dataclass

from foreread.emulator.linux.rules import Version

METADATA_KEPT = 8  # SQUASHFS_CACHED_BLKS, fs/squashfs/squashfs_fs.h
FRAGMENTS_KEPT = 3  # CONFIG_SQUASHFS_FRAGMENT_CACHE_SIZE, its default
DEVICE_BLOCK = 1024  # bytes: SQUASHFS_DEVBLK_SIZE without CONFIG_SQUASHFS_4K_DEVBLK_SIZE
LIST_PART = 2048  # SQUASHFS_META_INDEXES: entries of a list of blocks per entry in the index cache
_BIOS_SINCE: Version = (5, 7)  # 93e72b3c612a "squashfs: migrate from ll_rw_block usage to BIO"
_KEEPS_PARTS_SINCE: Version = (6, 5)  # e994f5b677ee "squashfs: cache partial compressed blocks"


@dataclass(frozen=True)
class SquashfsRules:
    """Sizes in bytes, caches in blocks.

    ``buffered``: the device's page cache keeps read data, in device blocks. ``keeps_parts``: the
    first and the last page of a read of metadata or of a fragment stay cached if they are only
    partly in the block; those of other data did not on 6.18 (tests/kernel/test_image_reading.py).
    """

    device_block: int = DEVICE_BLOCK
    page_size: int = 4096
    metadata_kept: int = METADATA_KEPT
    fragments_kept: int = FRAGMENTS_KEPT
    buffered: bool = False
    keeps_parts: bool = False


def squashfs_rules(
    version: Version,
    *,
    page_size: int = 4096,
    device_block: int = DEVICE_BLOCK,
    fragments_kept: int = FRAGMENTS_KEPT,
) -> SquashfsRules:
    """Return the rules of a kernel; ``device_block`` and ``fragments_kept`` are its configuration.

    A device with larger logical blocks has those as device blocks (sb_min_blocksize).
    """
    whole_pages = device_block == page_size
    return SquashfsRules(
        device_block=device_block,
        page_size=page_size,
        fragments_kept=fragments_kept,
        buffered=version < _BIOS_SINCE,
        keeps_parts=version >= _KEEPS_PARTS_SINCE and whole_pages,
    )
