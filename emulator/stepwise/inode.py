"""A file of the emulation, with its page cache."""

from __future__ import annotations

from dataclasses import dataclass, field

from foreread.emulator.stepwise.cache import PageCache


@dataclass(slots=True)
class Inode:
    """A file; ``last`` is the index of its last page, -1 for an empty file."""

    row: int
    size: int
    last: int
    large_folios: bool
    block_pages: int
    window: int  # -1: the device's
    cache: PageCache = field(default_factory=PageCache)
