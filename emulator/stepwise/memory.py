"""Files under little memory: the kernel's two lists of folios, and which of them it reclaims.

mm/swap.c, mm/vmscan.c (two lists, 4.20 and later) and mm/workingset.c, for a machine or a memory
group in which files may have so many pages. Code that was touched is taken to be in use from then
on, which no recording shows; other pages as far as their touches are known. Swap, dirty pages and
the multi-generational lists are left out.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt

from foreread.emulator.stepwise.cache import Folio
from foreread.emulator.stepwise.inode import Inode

BATCH = 32  # SWAP_CLUSTER_MAX
_ROUNDS = 4  # through all folios; then the kernel would end a process


@dataclass(slots=True, eq=False)
class Held:
    """A folio on a list.

    ``run`` is the ->readahead call that read it. ``referenced`` is PG_referenced. Since reclaim
    looked at it, ``users`` mappings (at most 2) used it, the last of them ``mapping``, and one of
    them may execute it. ``code``: it is code that was touched.
    """

    inode: Inode
    folio: Folio
    run: int
    active: bool = False
    referenced: bool = False
    users: int = 0
    mapping: int = -1
    executes: bool = False
    code: bool = False


Key = tuple[int, int]  # row of the file, page


class Memory:
    """``limit`` pages of files; ``is_locked`` says of a folio that it is being read.

    ``forget`` takes a folio out of the page cache.
    """

    def __init__(
        self, limit: int, is_locked: Callable[[Held], bool], forget: Callable[[Held], None]
    ) -> None:
        self.limit = limit
        self._is_locked, self._forget = is_locked, forget
        self._lists: tuple[OrderedDict[Key, Held], OrderedDict[Key, Held]]
        self._lists = (OrderedDict(), OrderedDict())  # inactive, active; the oldest first
        self._pages = [0, 0]
        self._age = 0  # nonresident_age: pages that were reclaimed or became active
        self._reclaimed: dict[Key, int] = {}  # the age at which a page was reclaimed
        self._full = 0  # that many pages could not be reclaimed: try again when there are more
        self._refaulted = False  # since the last reclaim, a page became active when read again

    def enter(self, inode: Inode, folio: Folio, run: int, page_size: int) -> None:
        """Make room for a new folio, and hold it (filemap_add_folio, workingset_refault)."""
        if sum(self._pages) + folio.pages > max(self.limit, self._full):
            self._reclaim(max(folio.pages, BATCH), page_size)
            pages = sum(self._pages) + folio.pages
            self._full = pages + BATCH if pages > self.limit else 0
        held = Held(inode, folio, run)
        age = self._reclaimed.get((inode.row, folio.index))
        for page in range(folio.index, folio.index + folio.pages):
            self._reclaimed.pop((inode.row, page), None)
        held.active = age is not None and self._age - age <= self._pages[True]
        if held.active:
            self._age += folio.pages
            self._refaulted = True
        self._add(held)

    def own(self, pages: int, of: int, page_size: int) -> None:
        """The program itself has so many of the pages ``of`` memory from now on."""
        self.limit = max(of - pages, 1)
        above = sum(self._pages) - self.limit
        if above > 0:
            self._reclaim(max(above, BATCH), page_size)

    def read(self, inode: Inode, page: int) -> None:
        """A read(2) uses a page (folio_mark_accessed)."""
        held = self._held(inode, page)
        if held is None:
            return
        if not held.referenced:
            held.referenced = True
        elif not held.active:
            self._move(held, active=True)
            held.referenced = False
            self._age += held.folio.pages

    def map(self, inode: Inode, page: int, mapping: int, *, executes: bool) -> None:
        """A mapping uses a page, or has a new entry for it, which is young."""
        held = self._held(inode, page)
        if held is None:
            return
        if held.mapping != mapping:
            held.users = min(held.users + 1, 2)
            held.mapping = mapping
        held.executes |= executes

    def execute(self, inode: Inode, page: int) -> None:
        """A page of code is touched: it is used from now on."""
        held = self._held(inode, page)
        if held is not None:
            held.code = True

    def _held(self, inode: Inode, page: int) -> Held | None:
        folio = inode.cache.get(page)
        if folio is None:
            return None
        key = (inode.row, folio.index)
        return self._lists[False].get(key) or self._lists[True].get(key)

    def _add(self, held: Held) -> None:
        self._lists[held.active][held.inode.row, held.folio.index] = held
        self._pages[held.active] += held.folio.pages

    def _remove(self, held: Held) -> None:
        del self._lists[held.active][held.inode.row, held.folio.index]
        self._pages[held.active] -= held.folio.pages

    def _move(self, held: Held, *, active: bool) -> None:
        """Put a folio at the young end of a list."""
        self._remove(held)
        held.active = active
        self._add(held)

    def _reclaim(self, least: int, page_size: int) -> None:
        """shrink_lruvec: reclaim so many pages, if folios that can be reclaimed suffice."""
        looks = _ROUNDS * sum(len(each) for each in self._lists) + BATCH
        while least > 0 and looks > 0:
            if self._refaulted or self._is_inactive_low(page_size):
                looks -= self._deactivate()
            before = sum(self._pages)
            looked = min(BATCH, len(self._lists[False]))
            for _ in range(looked):
                self._look(next(iter(self._lists[False].values())))
            least -= before - sum(self._pages)
            looks -= max(looked, 1)
        self._refaulted = False

    def _is_inactive_low(self, page_size: int) -> bool:
        inactive, active = self._pages
        gib = (inactive + active) * page_size >> 30
        return inactive * (isqrt(10 * gib) if gib else 1) < active

    def _deactivate(self) -> int:
        """shrink_active_list: code that was used stays active. Return how many it looked at."""
        looked = min(BATCH, len(self._lists[True]))
        for _ in range(looked):
            held = next(iter(self._lists[True].values()))
            stays = held.code or (held.users > 0 and held.executes)
            _clear(held)
            self._move(held, active=stays)
        return looked

    def _look(self, held: Held) -> None:
        """shrink_folio_list: reclaim a folio, keep it for another round, or make it active."""
        if self._is_locked(held):
            self._move(held, active=False)
            return
        users, executes, referenced = held.users, held.executes, held.referenced
        _clear(held)
        held.referenced = users > 0 or held.code
        if held.referenced:
            self._move(held, active=referenced or users > 1 or executes or held.code)
            return
        self._remove(held)
        for page in range(held.folio.index, held.folio.index + held.folio.pages):
            self._reclaimed[held.inode.row, page] = self._age
        self._age += held.folio.pages
        self._forget(held)


def _clear(held: Held) -> None:
    """folio_referenced: the entries of all mappings are old now."""
    held.users, held.mapping, held.executes = 0, -1, False
