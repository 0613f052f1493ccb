"""Reclaim with an inactive and an active list (mm/swap.c, mm/vmscan.c, mm/workingset.c).

As of 4.20 and later.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt

from foreread.emulator.stepwise.memory import BATCH, Held, Key, Lists

_ROUNDS = 4  # through all folios; then the kernel would end a process
INACTIVE, ACTIVE = 0, 1


class TwoLists(Lists):
    """The lists; a shadow is the age at which a page was reclaimed."""

    def __init__(
        self,
        is_locked: Callable[[Held], bool],
        forget: Callable[[Held], None],
        page_size: int,
    ) -> None:
        super().__init__(2, is_locked, forget)
        self._page_size = page_size
        self._active_pages = 0
        self._age = 0  # nonresident_age: pages that were reclaimed or became active
        self._refaulted = False  # since the last reclaim, a page became active when read again

    def enter(self, held: Held, shadow: int | None, *, faulting: bool) -> None:
        """Put a folio on the inactive list; on the active one if it was reclaimed a moment ago."""
        del faulting
        active = shadow is not None and self._age - shadow <= self._active_pages
        if active:
            self._age += held.folio.pages
            self._refaulted = True
        self._put(held, active=active)

    def read(self, held: Held) -> None:
        """The second use makes a folio active."""
        if not held.referenced:
            held.referenced = True
        elif held.row == INACTIVE:
            self._move(held, active=True)
            held.referenced = False
            self._age += held.folio.pages

    def reclaim(self, least: int) -> dict[Key, int]:
        """shrink_lruvec: from the inactive list, which is kept long enough."""
        shadows: dict[Key, int] = {}
        looks = _ROUNDS * sum(len(each) for each in self._rows) + BATCH
        while least > 0 and looks > 0:
            if self._refaulted or self._is_inactive_low():
                looks -= self._deactivate()
            before = self.pages
            looked = min(BATCH, len(self._rows[INACTIVE]))
            for _ in range(looked):
                self._look(next(iter(self._rows[INACTIVE].values())), shadows)
            least -= before - self.pages
            looks -= max(looked, 1)
        self._refaulted = False
        return shadows

    def _put(self, held: Held, *, active: bool) -> None:
        self._active_pages += held.folio.pages if active else 0
        self._add(held, ACTIVE if active else INACTIVE)

    def _take(self, held: Held) -> None:
        self._active_pages -= held.folio.pages if held.row == ACTIVE else 0
        self._remove(held)

    def _move(self, held: Held, *, active: bool) -> None:
        """Put a folio at the young end of a list."""
        self._take(held)
        self._put(held, active=active)

    def _is_inactive_low(self) -> bool:
        gib = self.pages * self._page_size >> 30
        inactive = self.pages - self._active_pages
        return inactive * (isqrt(10 * gib) if gib else 1) < self._active_pages

    def _deactivate(self) -> int:
        """shrink_active_list: code that was used stays active. Return how many it looked at."""
        looked = min(BATCH, len(self._rows[ACTIVE]))
        for _ in range(looked):
            held = next(iter(self._rows[ACTIVE].values()))
            stays = held.code or (held.users > 0 and held.executes)
            held.clear_users()
            self._move(held, active=stays)
        return looked

    def _look(self, held: Held, shadows: dict[Key, int]) -> None:
        """shrink_folio_list: reclaim a folio, keep it for another round, or make it active."""
        if self._is_locked(held):
            self._move(held, active=False)
            return
        users, executes, referenced = held.users, held.executes, held.referenced
        held.referenced = held.is_young
        held.clear_users()
        if held.referenced:
            self._move(held, active=referenced or users > 1 or executes or held.code)
            return
        self._take(held)
        for page in range(held.folio.index, held.folio.index + held.folio.pages):
            shadows[held.inode.row, page] = self._age
        self._age += held.folio.pages
        self._forget(held)
