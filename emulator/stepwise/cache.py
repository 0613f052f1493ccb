"""The page cache of one inode: its folios, and the scans of readahead over them."""

from __future__ import annotations

from dataclasses import dataclass

SLOT_BITS = 6  # XA_CHUNK_SHIFT: a node of the xarray has 64 slots
SLOTS = 1 << SLOT_BITS
_INDEX_BITS = 64


@dataclass(slots=True)
class Folio:
    """2^order pages from ``index`` on; ``marked`` is PG_readahead."""

    index: int
    order: int
    marked: bool = False

    @property
    def pages(self) -> int:
        """The number of pages."""
        return 1 << self.order

    @property
    def shift(self) -> int:
        """The shift of the folio's xarray node: a slot of the node is 2^shift pages."""
        return self.order // SLOT_BITS * SLOT_BITS


class PageCache:
    """Folios by page index. A folio that is removed leaves its nodes, for its shadow entry."""

    def __init__(self) -> None:
        self._folios: dict[int, Folio] = {}
        self._nodes: set[tuple[int, int]] = set()  # (shift, index >> shift) of slots with a node
        self.root_shift = -SLOT_BITS  # of the xarray's topmost node; page 0 alone needs none

    def get(self, page: int) -> Folio | None:
        """Return the folio that holds a page."""
        return self._folios.get(page)

    def add(self, folio: Folio) -> bool:
        """Insert a folio unless a page of it is cached (EEXIST); return whether it is new."""
        pages = range(folio.index, folio.index + folio.pages)
        if any(page in self._folios for page in pages):
            return False
        for page in pages:
            self._folios[page] = folio
        for shift in range(folio.shift + SLOT_BITS, _INDEX_BITS, SLOT_BITS):
            self._nodes.add((shift, folio.index >> shift))
        if pages[-1]:
            self.root_shift = max(self.root_shift, folio.shift)
            while pages[-1] >> self.root_shift >= SLOTS:
                self.root_shift += SLOT_BITS
        return True

    def remove(self, folio: Folio) -> None:
        """Remove a folio."""
        for page in range(folio.index, folio.index + folio.pages):
            del self._folios[page]

    def slot(self, shift: int, number: int) -> Folio | bool:
        """Return the content of slot ``number`` (index >> shift) of the nodes of ``shift``.

        It is a folio, True for a node below, or False if empty.
        """
        folio = self._folios.get(number << shift)
        if folio is not None and folio.shift == shift:
            return folio
        return (shift, number) in self._nodes

    def history(self, page: int, limit: int) -> int:
        """Count the cached pages before ``page``, up to ``limit`` (radix_tree_prev_hole)."""
        count = 0
        while count < limit and page - 1 - count in self._folios:
            count += 1
        return count

    def next_hole(self, page: int, limit: int) -> int:
        """Return the first absent page from ``page`` on, ``page + limit`` if there is none."""
        end = page + limit
        while page < end and page in self._folios:
            page += 1
        return page

    def prev_miss(self, page: int, limit: int, *, scans_all: bool) -> int:
        """page_cache_prev_miss: the first index without an entry at or before ``page``; -1.

        If all ``limit`` indices have entries: the last one, or with ``scans_all`` the one before.
        """
        cursor = Cursor(self, page)
        for _ in range(limit):
            if not cursor.step(-1) or cursor.index == -1:
                return cursor.index
        return cursor.index - scans_all

    def next_miss(self, page: int, limit: int) -> int | None:
        """page_cache_next_miss: the first index without an entry from ``page`` on, or None."""
        cursor = Cursor(self, page)
        for _ in range(limit):
            if not cursor.step(1):
                return cursor.index
        return None


class Cursor:
    """An xarray state (struct xa_state), as far as xas_next and xas_prev move it to a miss.

    In a large folio xas_load puts ``xa_offset`` on the folio's head, while ``xa_index`` stays at
    the requested page: from there on the examined slots lag behind the index, up to the next node
    (lib/xarray.c: xas_descend, __xas_next, __xas_prev).
    """

    def __init__(self, cache: PageCache, index: int) -> None:
        self.index = index
        self._cache = cache
        self._shift = 0  # of the node
        self._node = 0  # number of the node: index >> shift >> SLOT_BITS
        self._offset = -1  # slot in the node; -1: not yet in the tree

    def step(self, by: int) -> bool:
        """Go to the next (1) or previous (-1) index; return whether the slot is in use.

        The first step examines the index itself. Must not be called again after a miss.
        """
        if self._offset < 0:
            return self._load()
        self.index += by
        if self._shift or not 0 <= self._offset + by < SLOTS:
            return self._cross(by)
        self._offset += by
        return self._here() is not False

    def _load(self) -> bool:
        """xas_load: descend from the root to the index; a sibling leads to the head."""
        root = self._cache.root_shift
        if root < 0:  # one entry, at index 0, and no node
            self._offset = 0
            return self.index == 0 and self._cache.get(0) is not None
        if self.index < 0 or self.index >> root >= SLOTS:
            return False
        self._enter(root, 0, self.index >> root)
        while (entry := self._here()) is True:
            self._descend()
        if isinstance(entry, Folio):
            self._offset = (entry.index >> self._shift) % SLOTS
        return entry is not False

    def _cross(self, by: int) -> bool:
        """__xas_next, __xas_prev: from one node to another."""
        root = self._cache.root_shift
        if root < 0:
            return False
        if self._offset != (self.index >> self._shift) % SLOTS:
            self._offset += by
        while not 0 <= self._offset < SLOTS:
            if self._shift == root:
                return False
            at = self._node
            self._enter(self._shift + SLOT_BITS, at >> SLOT_BITS, at % SLOTS + by)
        while self._here() is True:
            self._descend()
        return self._here() is not False

    def _enter(self, shift: int, node: int, offset: int) -> None:
        self._shift, self._node, self._offset = shift, node, offset

    def _descend(self) -> None:
        shift = self._shift - SLOT_BITS
        self._enter(shift, self._node * SLOTS + self._offset, (self.index >> shift) % SLOTS)

    def _here(self) -> Folio | bool:
        return self._cache.slot(self._shift, self._node * SLOTS + self._offset)
