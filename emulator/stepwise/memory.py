"""Files under little memory: what each folio was used for, and room for new ones.

For a machine or a memory group in which files may have so many pages. Which folios the kernel
reclaims is in two_lists.py and generations.py. With ``Machine.code_stays`` code that was touched is
taken to be in use from then on, which few recordings show; other pages as far as their touches are
known. Swap and dirty pages are left out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from foreread.emulator.stepwise.cache import Folio
from foreread.emulator.stepwise.inode import Inode

BATCH = 32  # SWAP_CLUSTER_MAX
# Where nothing can be reclaimed, since all is in use, memory is exceeded. Reclaim is tried again
# when there is that much more: the time stays in proportion to the pages.
_RETRIES = 64


@dataclass(slots=True, eq=False)
class Held:
    """A folio on a list.

    ``run`` is the ->readahead call that read it. ``referenced`` is PG_referenced. Since reclaim
    looked at it, ``users`` mappings (at most 2) used it, the last of them ``mapping``, and one of
    them may execute it. ``code``: it is code that was touched. ``row`` is the list that it is on.

    Of generations: the ``generation`` that it belongs to, PG_workingset, and how often a read(2)
    used it after PG_referenced was set (at most 3).
    """

    inode: Inode
    folio: Folio
    run: int
    row: int = 0
    referenced: bool = False
    users: int = 0
    mapping: int = -1
    executes: bool = False
    code: bool = False
    generation: int = 0
    workingset: bool = False
    reads: int = 0

    @property
    def is_young(self) -> bool:
        """Whether a mapping used it since reclaim looked at it."""
        return self.users > 0 or self.code

    def clear_users(self) -> None:
        """The entries of all mappings are old now (folio_referenced, walk_pte_range)."""
        self.users, self.mapping, self.executes = 0, -1, False


Key = tuple[int, int]  # row of the file, page


class Lists(ABC):
    """The folios in memory, and which of them are reclaimed.

    ``is_locked`` says of a folio that it is being read; ``forget`` takes a folio out of the page
    cache. Each list has its oldest folio first.
    """

    def __init__(
        self, rows: int, is_locked: Callable[[Held], bool], forget: Callable[[Held], None]
    ) -> None:
        self._is_locked, self._forget = is_locked, forget
        self._rows: list[OrderedDict[Key, Held]] = [OrderedDict() for _ in range(rows)]
        self.pages = 0

    @abstractmethod
    def enter(self, held: Held, shadow: int | None, *, faulting: bool) -> None:
        """Put a new folio on a list; ``shadow`` is what ``reclaim`` left of an earlier one."""

    @abstractmethod
    def read(self, held: Held) -> None:
        """A read(2) uses a folio (folio_mark_accessed)."""

    @abstractmethod
    def reclaim(self, least: int) -> dict[Key, int]:
        """Reclaim so many pages, if folios that can be reclaimed suffice.

        Return the shadows of the pages that are gone.
        """

    def held(self, key: Key) -> Held | None:
        """Return the folio that begins with a page of a file."""
        return next((row[key] for row in self._rows if key in row), None)

    def _add(self, held: Held, row: int, *, oldest: bool = False) -> None:
        """Put a folio at the young end of a list, or at the old one."""
        key = held.inode.row, held.folio.index
        held.row = row
        self._rows[row][key] = held
        if oldest:
            self._rows[row].move_to_end(key, last=False)
        self.pages += held.folio.pages

    def _remove(self, held: Held) -> None:
        del self._rows[held.row][held.inode.row, held.folio.index]
        self.pages -= held.folio.pages


class Memory:
    """``limit`` pages of files, on ``lists``."""

    def __init__(self, limit: int, lists: Lists) -> None:
        self.limit, self.lists = limit, lists
        self._shadows: dict[Key, int] = {}  # of pages that were reclaimed
        self._full = 0  # that many pages could not be reclaimed: try again when there are more

    def enter(self, inode: Inode, folio: Folio, run: int, *, faulting: bool) -> None:
        """Make room for a new folio, and hold it (filemap_add_folio, workingset_refault)."""
        if self.lists.pages + folio.pages > max(self.limit, self._full):
            self._reclaim(max(folio.pages, BATCH))
            pages = self.lists.pages + folio.pages
            self._full = pages + max(BATCH, pages // _RETRIES) if pages > self.limit else 0
        shadow = self._shadows.get((inode.row, folio.index))
        for page in range(folio.index, folio.index + folio.pages):
            self._shadows.pop((inode.row, page), None)
        self.lists.enter(Held(inode, folio, run), shadow, faulting=faulting)

    def own(self, pages: int, of: int) -> None:
        """The program itself has so many of the pages ``of`` memory from now on."""
        self.limit = max(of - pages, 1)
        above = self.lists.pages - self.limit
        if above > 0:
            self._reclaim(max(above, BATCH))

    def read(self, inode: Inode, page: int) -> None:
        """A read(2) uses a page."""
        held = self.held(inode, page)
        if held is not None:
            self.lists.read(held)

    def map(self, inode: Inode, page: int, mapping: int, *, executes: bool) -> None:
        """A mapping uses a page, or has a new entry for it, which is young."""
        held = self.held(inode, page)
        if held is None:
            return
        if held.mapping != mapping:
            held.users = min(held.users + 1, 2)
            held.mapping = mapping
        held.executes |= executes

    def execute(self, inode: Inode, page: int) -> None:
        """A page of code is touched: it is used from now on."""
        held = self.held(inode, page)
        if held is not None:
            held.code = True

    def held(self, inode: Inode, page: int) -> Held | None:
        """Return the folio that has a page of a file; None if it is not in memory."""
        folio = inode.cache.get(page)
        return None if folio is None else self.lists.held((inode.row, folio.index))

    def _reclaim(self, least: int) -> None:
        self._shadows |= self.lists.reclaim(least)
