"""The best combinations of offers, searched together: each is replayed with all its changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product
from math import prod

from foreread.analyzer.advise.bench import NOTHING, Bench, Chosen
from foreread.analyzer.advise.offer import Offer
from foreread.analyzer.predict.verdict import KEEP_PERCENT

WORK = 1_200_000  # steps replayed
MORE = KEEP_PERCENT / 100  # of the seconds: the least that a further change must save
_STARTS = 3  # of the search, where not all combinations can be tried
MOST_CHANGES = 4


def best_combinations(bench: Bench, offers: Sequence[Offer]) -> list[Chosen]:
    """Return the best combination of two changes, of three, and so on up to MOST_CHANGES.

    One of more changes is returned only if it saves more than the band, and than MORE, over the
    best of fewer.
    """
    tried = [*_tried(bench, offers)]
    bench.replay([*(frozenset([offer]) for offer in offers), *tried])
    improving: list[Chosen] = []
    best = min(
        (frozenset([offer]) for offer in offers),
        key=lambda combination: bench.cost(combination).seconds,
        default=NOTHING,
    )
    for number in range(2, MOST_CHANGES + 1):
        of_number = [combination for combination in tried if len(combination) == number]
        if not of_number:
            continue
        chosen = min(of_number, key=lambda combination: bench.cost(combination).seconds)
        if bench.worth(chosen, best, MORE):
            improving.append(chosen)
            best = chosen
    return improving


def _tried(bench: Bench, offers: Sequence[Offer]) -> Iterable[Chosen]:
    """Return the combinations that were replayed: all, if there is time for that."""
    genes = [*_genes(offers).values()]
    budget = max(WORK // bench.steps, 1)
    if prod(len(gene) + 1 for gene in genes) <= budget:
        return {
            chosen
            for values in product(*[(None, *gene) for gene in genes])
            if len(chosen := frozenset(offer for offer in values if offer)) <= MOST_CHANGES
        }
    return _climbed(bench, genes, budget)


def _genes(offers: Sequence[Offer]) -> dict[str, list[Offer]]:
    genes: dict[str, list[Offer]] = {}
    for offer in offers:
        genes.setdefault(offer.gene, []).append(offer)
    return genes


def _climbed(bench: Bench, genes: list[list[Offer]], budget: int) -> set[Chosen]:
    """Climb from several starts, changing one gene or two at a time, until nothing is better.

    The starts are the present, and the best changes of one and of two genes.
    """
    seen: set[Chosen] = {NOTHING}
    singles = [frozenset([offer]) for gene in genes for offer in gene]
    seen.update(singles[:budget])
    starts = sorted(seen, key=lambda combination: bench.cost(combination).seconds)[:_STARTS]
    for start in starts:
        here = start
        while len(seen) < budget:
            tried = [*_until(_neighbours(here, genes), seen, budget)]
            bench.replay(tried)
            better = min([here, *tried], key=lambda chosen: bench.cost(chosen).seconds)
            if better == here:
                break
            here = better
    return seen


def _until(several: Iterable[Chosen], seen: set[Chosen], budget: int) -> Iterator[Chosen]:
    """Yield combinations, and add them to ``seen`` until that has as many as the budget."""
    for chosen in several:
        if len(seen) >= budget:
            return
        seen.add(chosen)
        yield chosen


def _neighbours(chosen: Chosen, genes: list[list[Offer]]) -> Iterator[Chosen]:
    """Yield combinations that differ in one gene, then in two."""
    for number in (1, 2):
        for some in combinations(genes, number):
            names = {gene[0].gene for gene in some}
            kept = {offer for offer in chosen if offer.gene not in names}
            for values in product(*[(None, *gene) for gene in some]):
                other = frozenset(kept | {offer for offer in values if offer})
                if len(other) <= MOST_CHANGES and other != chosen:
                    yield other
