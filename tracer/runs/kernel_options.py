"""The options of a kernel's configuration that change what a start reads."""

from __future__ import annotations

import re
from collections.abc import Iterable

from foreread.tracer.formats.capture import HUGE_PAGES

# The cache of fragments, the unit of squashfs's reads, large folios, and the compressors.
KERNEL_OPTIONS = (
    "CONFIG_SQUASHFS_FRAGMENT_CACHE_SIZE",
    "CONFIG_SQUASHFS_4K_DEVBLK_SIZE",
    HUGE_PAGES,
    "CONFIG_SQUASHFS_ZLIB",
    "CONFIG_SQUASHFS_XZ",
    "CONFIG_SQUASHFS_LZO",
    "CONFIG_SQUASHFS_LZ4",
    "CONFIG_SQUASHFS_ZSTD",
    "CONFIG_EROFS_FS_ZIP",
    "CONFIG_EROFS_FS_ZIP_LZMA",
    "CONFIG_EROFS_FS_ZIP_DEFLATE",
    "CONFIG_EROFS_FS_ZIP_ZSTD",
)
_LINE = re.compile(r"(?:# )?(CONFIG_[A-Z0-9_]{1,80})(?:=(\S{1,20})| is not set)\s*", re.ASCII)


def parse_options(lines: Iterable[str]) -> dict[str, str]:
    """Return the KERNEL_OPTIONS that lines of a configuration set; "n" for one that is not set."""
    matches = (_LINE.fullmatch(line) for line in lines)
    return {match[1]: match[2] or "n" for match in matches if match and match[1] in KERNEL_OPTIONS}


def with_huge_pages(options: dict[str, str], known_absent: bool) -> dict[str, str]:
    """Return options of a kernel that is known to have no transparent huge pages, or may have."""
    return {HUGE_PAGES: "n", **options} if known_absent else options
