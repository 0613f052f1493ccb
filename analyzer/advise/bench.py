"""Replays combinations of offers, each once, and compares them with the present."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from statistics import median

import numpy as np

from foreread.analyzer.advise.offer import Offer, in_order
from foreread.analyzer.advise.situation import Situation
from foreread.analyzer.advise.variant import Cost, Variant, costs
from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.predict.bands import DEVIATIONS, TOLD_APART

Chosen = frozenset[Offer]
NOTHING: Chosen = frozenset()
# Random draws for a band: as many as fit into a few seconds.
WORK = 300_000  # steps replayed for one band
FEWEST_DRAWS, MOST_DRAWS = 8, 40
LINKS = 8  # random links: their mean is the cost of code that is linked anew
# What the draws do not explain of the seconds with a list: a relative standard deviation, learnt
# from the rows with lists of the measured starts (studies/advice/bands.py).
LISTED = 0.035
# The same of early reads, from the seven rows measured (studies/advice/README.md).
EARLY = 0.0045
# The same of advice for single files, from the rows measured (python -m studies.advice.access).
ACCESS = 0.0152
_AT_HAND = 12  # variants that stay prepared


class Bench:
    """Replays of a situation. The same input gives the same figures."""

    def __init__(self, situation: Situation) -> None:
        self.situation = situation
        steps = sum(len(variant.run.steps) for variant in situation.present)
        self.draws = min(max(WORK // max(steps, 1), FEWEST_DRAWS), MOST_DRAWS)
        self.steps = max(steps, 1)
        self._costs: dict[Chosen, Cost] = {}
        self._drawn: dict[Chosen, Array] = {}
        self._listed: dict[Chosen, bool] = {}
        self._changed: dict[tuple[tuple[Offer, ...], int | None], list[Variant]] = {}

    @property
    def replayed(self) -> int:
        """Return how many combinations were replayed."""
        return len(self._costs)

    def variants(self, chosen: Iterable[Offer], link: int | None = None) -> list[Variant]:
        """Return each recording with the chosen changes; ``link`` as in :class:`Variant`."""
        return self._with(in_order(chosen), link)

    def _with(self, offers: tuple[Offer, ...], link: int | None) -> list[Variant]:
        """Return each recording with changes in their order; the latest ones stay at hand.

        Combinations differ in their last change above all, and share what comes before it.
        """
        key = offers, link
        variants = self._changed.pop(key, None)
        if variants is None and offers:
            before = self._with(offers[:-1], link)
            variants = [offers[-1].apply(variant) for variant in before]
        elif variants is None:
            variants = [*self.situation.present]
            if link is not None:
                variants = [replace(variant, link=link) for variant in variants]
        if offers and offers[-1].kind == "window":
            return variants  # it shares what is prepared for the others
        self._changed[key] = variants
        if len(self._changed) > _AT_HAND:
            del self._changed[next(iter(self._changed))]
        return variants

    def cost(self, chosen: Chosen = NOTHING) -> Cost:
        """Return the seconds with the chosen changes: the median of the recordings.

        Where a linker places functions is not known to the page, and on which page a window begins
        makes a difference: the cost is the mean of several random links.
        """
        if chosen not in self._costs:
            self.replay([chosen])
        return self._costs[chosen]

    def replay(self, several: Iterable[Chosen]) -> None:
        """Replay combinations together; each has a cost from then on."""
        new = [chosen for chosen in dict.fromkeys(several) if chosen not in self._costs]
        links = [range(LINKS) if _ordered(chosen) else [None] for chosen in new]
        replayed = costs(
            (variant, None)
            for chosen, numbers in zip(new, links, strict=True)
            for link in numbers
            for variant in self.variants(chosen, link)
        )
        recordings = len(self.situation.present)
        for chosen, numbers in zip(new, links, strict=True):
            by_link = [list(islice(replayed, recordings)) for _ in numbers]
            seconds = [median(cost.seconds for cost in each) for each in by_link]
            octets = [median(cost.read_bytes for cost in each) for each in by_link]
            self._costs[chosen] = Cost(float(np.mean(seconds)), int(np.mean(octets)))

    def saved(self, chosen: Chosen, than: Chosen = NOTHING) -> float:
        """Return by how many seconds the chosen changes are faster than others."""
        return self.cost(than).seconds - self.cost(chosen).seconds

    def band(self, chosen: Chosen, than: Chosen = NOTHING) -> float:
        """Return the band of that difference, either way; never 0.

        Both are replayed on the same random draws of device and processor. It contains what the
        draws do not explain of starts with lists, early reads or advice for single files, and is at
        least the spread of identical runs.
        """
        beside = self._unexplained_between(chosen, than)
        least = TOLD_APART * self.cost(than).seconds
        return max(float(DEVIATIONS * np.hypot(self.drawn(chosen, than).std(), beside)), least)

    def drawn(self, chosen: Chosen, than: Chosen = NOTHING) -> Array:
        """Return that difference in each random draw, in s."""
        return self._draws(than) - self._draws(chosen)

    def _unexplained_between(self, chosen: Chosen, than: Chosen) -> float:
        """Return the standard deviation of a saving that the draws do not explain.

        Advice that both have errs by the same in both.
        """
        shared = {offer for offer in chosen & than if offer.kind == "access"}
        of_chosen, of_than = (self._unexplained(chosen, shared), self._unexplained(than, shared))
        return float(np.hypot(of_chosen, of_than))

    def _unexplained(self, chosen: Chosen, shared: set[Offer]) -> float:
        """Return the standard deviation of the seconds that the draws do not explain."""
        if chosen not in self._listed:
            self._listed[chosen] = any(variant.ranges for variant in self.variants(chosen))
        if self._listed[chosen]:
            return LISTED * self.cost(chosen).seconds
        kinds = {offer.kind for offer in chosen - shared}
        share = ACCESS if "access" in kinds else EARLY if "early" in kinds else 0.0
        return share * self.cost(chosen).seconds

    def worth(self, chosen: Chosen, than: Chosen = NOTHING, share: float = TOLD_APART) -> bool:
        """Return whether the chosen changes save more than the band, and than a share of all.

        So must the median of the random draws: a saving that depends on when a process begins, to
        the millisecond, is none.
        """
        saved = self.saved(chosen, than)
        beside = self._unexplained_between(chosen, than)
        if saved <= max(share * self.cost(than).seconds, DEVIATIONS * beside):
            return False  # whatever the draws are
        drawn = float(np.median(self.drawn(chosen, than)))
        return min(saved, drawn) > self.band(chosen, than)

    def _draws(self, chosen: Chosen) -> Array:
        """Return the seconds in each random draw, which is a random link as well."""
        if chosen not in self._drawn:
            linked = _ordered(chosen)
            replayed = costs(
                (variant, draw)
                for draw in range(self.draws)
                for variant in self.variants(chosen, draw if linked else None)
            )
            seconds = np.array([cost.seconds for cost in replayed])
            self._drawn[chosen] = np.median(seconds.reshape(self.draws, -1), axis=1)
        return self._drawn[chosen]


def _ordered(chosen: Chosen) -> bool:
    return any(offer.kind == "order" for offer in chosen)
