"""The facts that a recorder needs from its trace; the analyzer reads them there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

Reads = Mapping[str, Sequence[tuple[int, int]]]  # (first sector, sectors) by "major:minor"


@dataclass(frozen=True)
class Seen:
    """The inodes of all page-cache events, as (dev_t, inode), and the reads of the command.

    ``reads`` is None if they were not looked for. ``error``: why the trace cannot be read.
    """

    inodes: Set[tuple[int, int]] = frozenset()
    reads: Reads | None = None
    error: ValueError | None = None

    @property
    def most_read(self) -> str:
        """The disk that the command read most from, empty without reads."""
        reads = self.reads or {}
        return max(reads, key=lambda dev: sum(sectors for _, sectors in reads[dev]), default="")
