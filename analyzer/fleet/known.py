"""Which captures a store has: sorted digests of 16 bytes, a hundredth of the rows' memory."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from foreread.analyzer.ingest.tables import Array

_BYTES = 16
_KEPT_APART = 20_000  # new digests, each 70 bytes in a set


class KnownKeys:
    """A set of digests (32 hexadecimal digits each)."""

    def __init__(self) -> None:
        self._sorted: Array = np.empty(0, f"S{_BYTES}")
        self._new: set[bytes] = set()

    def __contains__(self, key: str | None) -> bool:
        if key is None:
            return False
        wanted = bytes.fromhex(key)
        if wanted in self._new:
            return True
        row = int(np.searchsorted(self._sorted, np.bytes_(wanted)))
        # numpy returns bytes without the zeros at their end.
        return row < len(self._sorted) and self._sorted[row] == wanted.rstrip(b"\0")

    def __len__(self) -> int:
        self._merge()
        return len(self._sorted)

    @property
    def is_empty(self) -> bool:
        """Whether no digest was added."""
        return not self._new and not len(self._sorted)

    def add(self, keys: Iterable[str | None]) -> None:
        """Add digests."""
        self._new.update(bytes.fromhex(key) for key in keys if key is not None)
        if len(self._new) > _KEPT_APART:
            self._merge()

    def _merge(self) -> None:
        if not self._new:
            return
        added = np.frombuffer(b"".join(self._new), f"S{_BYTES}")
        self._sorted = np.unique(np.concatenate([self._sorted, added]))
        self._new = set()  # a set that is cleared keeps its table
