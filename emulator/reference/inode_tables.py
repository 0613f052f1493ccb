"""Readahead in inode tables for linux/inode_tables.py: the kernel's loop, buffer by buffer."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Buffers:
    """The buffers of a block device: those read, and the reads in order (block, is readahead)."""

    uptodate: set[int] = field(default_factory=set)
    reads: list[tuple[int, bool]] = field(default_factory=list)

    def get_inode_loc(self, block: int, first: int, last: int, ahead: int) -> None:
        """__ext4_get_inode_loc: ``first`` and ``last`` are ``table`` before and after clipping."""
        if block in self.uptodate:
            return
        locked = block  # lock_buffer(bh): readahead passes over it
        if ahead:
            b = block - block % ahead
            b = max(b, first)
            end = b + ahead
            end = min(end, last)
            while b <= end:
                if b != locked:
                    self._breadahead(b)
                b += 1
        self.reads.append((block, False))
        self.uptodate.add(block)

    def _breadahead(self, block: int) -> None:
        """ext4_sb_breadahead_unmovable."""
        if block not in self.uptodate:
            self.reads.append((block, True))
            self.uptodate.add(block)
