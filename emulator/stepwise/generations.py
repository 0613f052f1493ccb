"""Reclaim with the multi-generational lists (mm/vmscan.c, mm/workingset.c, mm/swap.c).

Of 6.1, of 6.14, where the protection of the working set was made anew, and of 7.2, where what a
page fault reads ahead begins as an old page. Pages of files only: without swap no others are
reclaimed. A walk of the page tables sees all entries; the kernel skips tables with few young ones,
and meets those when it reclaims.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from foreread.emulator.linux.rules import Generations
from foreread.emulator.stepwise.memory import Held, Key, Lists

LEAST, MOST = 2, 4  # MIN_NR_GENS, MAX_NR_GENS
_BATCH, _MOST_LOOKS = 64, 64 * 64  # MIN_LRU_BATCH, MAX_LRU_BATCH
_TIERS = 4
_MOST_READS = 3  # LRU_REFS_MASK
_PRIORITY = 12  # DEF_PRIORITY


def _tiers() -> list[int]:
    return [0] * _TIERS


@dataclass
class History:
    """What became of the pages of one generation, by tier: reclaimed, missed again, protected."""

    evicted: list[int] = field(default_factory=_tiers)
    refaulted: list[int] = field(default_factory=_tiers)
    protected: list[int] = field(default_factory=_tiers)


def _log_up(number: int) -> int:
    """order_base_2."""
    return max(number - 1, 0).bit_length()


class GenerationLists(Lists):
    """The lists of the generations ``oldest`` to ``youngest``, by their remainder.

    A folio that a walk makes younger stays on its list until reclaim meets it there. A shadow is
    the number of the oldest generation, PG_workingset, and the number of reads.
    """

    def __init__(
        self, rule: Generations, is_locked: Callable[[Held], bool], forget: Callable[[Held], None]
    ) -> None:
        super().__init__(MOST, is_locked, forget)
        self._reworked = rule >= Generations.REWORKED
        self._faults_are_old = rule >= Generations.OLD_FAULTS
        self._oldest, self._youngest = 0, LEAST + 1
        self._sizes = [0] * MOST  # pages, by generation
        self._history = [History() for _ in range(MOST)]
        self._refaulted, self._total = _tiers(), _tiers()  # averages of earlier generations

    def enter(self, held: Held, shadow: int | None, *, faulting: bool) -> None:
        """lru_gen_refault, folio_add_lru: what a page fault reads is young, before 7.2."""
        if shadow is not None:
            self._refault(held, shadow, faulting=faulting)
        active = faulting
        if faulting and self._faults_are_old:
            active = held.workingset
            if not active:
                self.read(held)
        self._put(held, active=active)

    def read(self, held: Held) -> None:
        """folio_inc_refs, lru_gen_inc_refs."""
        if not held.referenced:
            held.referenced = True
            if self._reworked:
                held.reads = 0
        elif not self._reworked and not held.workingset:
            held.workingset = True
        elif held.reads < _MOST_READS:
            held.reads += 1
        elif self._reworked:
            held.workingset = True

    def reclaim(self, least: int) -> dict[Key, int]:
        """shrink_lruvec, shrink_node: with more effort in each round, down to priority 0."""
        shadows: dict[Key, int] = {}
        goal = self.pages - least
        for priority in range(_PRIORITY, -1, -1):
            if self._reworked:
                self._shrink(priority, goal, shadows)
            else:
                self._shrink_early(priority, goal, shadows)
            if self.pages <= goal:
                break
        return shadows

    # ---- which generation a folio belongs to ----

    def _refault(self, held: Held, shadow: int, *, faulting: bool) -> None:
        oldest, workingset, reads = shadow >> 3, bool(shadow >> 2 & 1), shadow & 3
        if self._reworked:
            if abs(self._youngest - oldest) >= MOST:
                return
            uses = reads + 1
            tier = _TIERS - 1 if workingset else _log_up(uses)
        else:
            if oldest != self._oldest:
                return
            uses = reads + workingset
            tier = _log_up(uses + 1)
        self._history[self._oldest % MOST].refaulted[tier] += held.folio.pages
        if self._reworked:
            held.workingset = workingset
            held.reads = 0 if workingset else reads
        elif faulting or uses >= _MOST_READS:
            held.workingset, held.reads = True, _MOST_READS

    def _put(self, held: Held, *, active: bool) -> None:
        """lru_gen_add_folio."""
        held.generation = self._generation_of(held, active=active)
        self._sizes[held.generation % MOST] += held.folio.pages
        self._add(held, held.generation % MOST)

    def _generation_of(self, held: Held, *, active: bool) -> int:
        if not self._reworked:
            if active:
                return self._youngest
            return self._oldest + (self._oldest + LEAST < self._youngest)
        if active:
            distance = LEAST - held.workingset
        else:
            second = held.workingset or (self._faults_are_old and held.referenced)
            distance = MOST - second
        return max(self._youngest - distance + 1, self._oldest)

    def _take(self, held: Held) -> None:
        self._sizes[held.generation % MOST] -= held.folio.pages
        self._remove(held)

    def _change(self, held: Held, generation: int) -> None:
        """Let a folio belong to a generation; it stays on its list."""
        self._sizes[held.generation % MOST] -= held.folio.pages
        self._sizes[generation % MOST] += held.folio.pages
        held.generation = generation

    def _sort(self, held: Held, *, oldest: bool = False) -> None:
        """Put a folio on the list of its generation."""
        self._remove(held)
        self._add(held, held.generation % MOST, oldest=oldest)

    # ---- aging ----

    def _age(self) -> None:
        """try_to_inc_max_seq: walk the page tables, and begin a generation."""
        for row in self._rows:
            for held in row.values():
                if held.is_young:
                    held.clear_users()
                    self._make_younger(held)
        self._youngest += 1
        self._history[self._youngest % MOST] = History()

    def _make_younger(self, held: Held) -> None:
        """folio_update_gen."""
        if self._reworked and not held.referenced and not held.workingset:
            held.referenced, held.reads = True, 0
            return
        self._change(held, self._youngest)
        held.referenced, held.reads, held.workingset = False, 0, self._reworked

    def _pass_empty(self) -> bool:
        """try_to_inc_min_seq: the oldest generation is one that has folios on its list."""
        before = self._oldest
        while self._oldest + LEAST <= self._youngest and not self._rows[self._oldest % MOST]:
            self._oldest += 1
        if self._oldest == before:
            return False
        for tier in range(_TIERS):
            missed, total = self._position(before, tier)
            self._refaulted[tier], self._total[tier] = missed // 2, total // 2
        return True

    def _protected(self, history: History, tier: int) -> int:
        return history.protected[tier] if self._reworked or tier else 0

    # ---- how much is looked at ----

    def _shrink_early(self, priority: int, goal: int, shadows: dict[Key, int]) -> None:
        """try_to_shrink_lruvec, to 6.13."""
        looked = 0
        while self.pages > goal:
            few = self._oldest + LEAST > self._youngest
            if (few or self._is_uneven()) and priority < _PRIORITY:
                self._age()
                return
            most = 0 if few else self.pages >> priority
            if most == 0:
                return
            now = self._evict(_MOST_LOOKS, shadows)
            looked += now
            if now == 0 or looked >= most:
                return

    def _shrink(self, priority: int, goal: int, shadows: dict[Key, int]) -> None:
        """try_to_shrink_lruvec, as of 7.2."""
        most = self.pages >> priority
        while most > 0 and self.pages > goal:
            spare = self._youngest - self._oldest - LEAST
            if spare < 0 or (spare == 0 and priority < _PRIORITY):
                self._age()
            looked = self._evict(min(most, _BATCH), shadows)
            if looked == 0:
                return
            most -= looked

    def _is_uneven(self) -> bool:
        """should_run_aging: with three generations, the youngest is large or the oldest small."""
        if self._oldest + LEAST != self._youngest:
            return False
        young, old = self._sizes[self._youngest % MOST], self._sizes[self._oldest % MOST]
        return young * LEAST > self.pages or old * (LEAST + 2) < self.pages

    # ---- eviction ----

    def _evict(self, most: int, shadows: dict[Key, int]) -> int:
        """evict_folios: return how many pages were looked at; 0 ends this round."""
        if self._reworked:
            self._pass_empty()
        looked, isolated = self._isolate(most)
        if self._reworked:
            if looked:
                self._pass_empty()
        else:
            looked += self._pass_empty()
            if self._youngest - self._oldest + 1 == LEAST:
                looked = 0
        for held in isolated:
            self._look(held, shadows)
        return looked

    def _isolate(self, most: int) -> tuple[int, list[Held]]:
        """scan_folios, isolate_folio: take folios of the oldest generation, the oldest first."""
        isolated: list[Held] = []
        looked = pages = 0
        if self._youngest - self._oldest + 1 == LEAST:
            return 0, isolated
        row, last_tier = self._rows[self._oldest % MOST], self._last_tier()
        while row and most > 0 and pages < _BATCH:
            held = next(iter(row.values()))
            looked += held.folio.pages
            most -= 1
            if self._stays(held, last_tier):
                continue
            self._take(held)
            if not held.referenced:
                held.reads = 0
                held.workingset &= self._reworked
            held.referenced &= self._reworked
            isolated.append(held)
            pages += held.folio.pages
        if not self._reworked and not isolated and most > 0:
            looked = 0
        return looked, isolated

    def _stays(self, held: Held, last_tier: int) -> bool:
        """sort_folio: a folio that was made younger, is protected, or is being read."""
        if held.generation != self._oldest:
            self._sort(held)
            return True
        tier = self._tier(held)
        used_most = held.workingset and held.reads == _MOST_READS
        used_most &= held.referenced or not self._reworked
        protected = tier > last_tier or used_most
        if not protected and (self._reworked or not self._is_locked(held)):
            return False
        if protected and not (self._reworked and used_most):
            self._history[self._oldest % MOST].protected[tier] += held.folio.pages
        self._change(held, self._oldest + 1)
        held.referenced, held.reads = False, 0
        held.workingset &= self._reworked
        self._sort(held, oldest=protected and not self._reworked)
        return True

    def _tier(self, held: Held) -> int:
        """lru_tier_from_refs: by reads, after the first."""
        if not self._reworked:
            return _log_up(held.reads + held.workingset + 1)
        if held.workingset:
            return _TIERS - 1
        return _log_up(held.reads + 1 if held.referenced else 0)

    def _last_tier(self) -> int:
        """get_tier_idx: the last tier that is reclaimed, since its pages are missed no more often.

        Its gain against the first is 1:2, from 6.14 on 2:3.
        """
        own, other = (2, 3) if self._reworked else (1, 2)
        missed, total = self._position(self._oldest, 0)
        for tier in range(1, _TIERS):
            of_tier, of_all = self._position(self._oldest, tier)
            if of_tier >= _BATCH and (
                of_tier * (total + _BATCH) * own > (missed + 1) * of_all * other
            ):
                return tier - 1
        return _TIERS - 1

    def _position(self, generation: int, tier: int) -> tuple[int, int]:
        """read_ctrl_pos: pages of a tier that were missed again, and all that were looked at."""
        history = self._history[generation % MOST]
        total = self._total[tier] + history.evicted[tier] + self._protected(history, tier)
        return self._refaulted[tier] + history.refaulted[tier], total

    def _look(self, held: Held, shadows: dict[Key, int]) -> None:
        """shrink_folio_list: reclaim a folio, unless it is young or being read."""
        if self._is_locked(held) or held.is_young:
            self._keep(held)
            return
        tier = self._tier(held)
        self._history[self._oldest % MOST].evicted[tier] += held.folio.pages
        shadow = self._oldest << 3 | held.workingset << 2 | held.reads
        for page in range(held.folio.index, held.folio.index + held.folio.pages):
            shadows[held.inode.row, page] = shadow
        self._forget(held)

    def _keep(self, held: Held) -> None:
        """Put a folio back, not into the oldest generation."""
        if not self._reworked:
            held.clear_users()
            held.referenced, held.reads, held.workingset = False, 0, False
            self._put(held, active=True)
            return
        active = False
        if held.is_young and not self._is_locked(held):
            active = self._is_used_again(held)
            held.clear_users()
        if not active and self._generation_of(held, active=False) == self._oldest:
            held.referenced, held.reads, active = False, 0, True
        self._put(held, active=active)

    def _is_used_again(self, held: Held) -> bool:
        """lru_gen_set_refs."""
        if not held.referenced and not held.workingset:
            held.referenced, held.reads = True, 0
            return False
        if not self._faults_are_old or (held.referenced and held.reads > 0):
            held.referenced, held.reads, held.workingset = False, 0, True
        else:
            self.read(held)
        return True
