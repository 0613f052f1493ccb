"""Confirms the winner, and keeps only the genes without which it is slower.

A search ends with a chromosome in which most genes have random values, and which was selected
because its runs were good. Separate runs correct both: the winner, the default, the winner with
only the genes that likely save something, and that one with each of its genes reset. The
measurements of the search do not enter the figures, so the luck that made a chromosome the winner
does not count as its gain.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from analyzer.tuner.engines.racing import NEGLIGIBLE
from analyzer.tuner.evaluation import key_of
from analyzer.tuner.findings.compare import CONFIDENCE, Change, Runs
from analyzer.tuner.findings.effects import Effects, GeneEffect
from analyzer.tuner.space.genes import Allele, Chromosome, Gene, Space, applies

REPEATS = 5  # runs of each chromosome in each scenario
_SURE = 0.99  # that a gene is missed, before a gene without a shown saving is reset


@dataclass(frozen=True)
class Gain:
    """A gene that is kept; ``change``: the relative cost compared with a chromosome without it."""

    gene: str
    allele: Allele
    default: Allele
    change: Change


@dataclass(frozen=True)
class Confirmed:
    """The chromosome with only the genes that matter, as far as decided.

    ``to_run``: chromosomes to run before the next decision; empty when all is decided.
    """

    chromosome: Chromosome
    gains: tuple[Gain, ...] = ()
    over_default: Change | None = None
    over_winner: Change | None = None
    to_run: tuple[Chromosome, ...] = ()


def differing(space: Space, chromosome: Chromosome) -> list[Gene]:
    """Return the genes that apply in ``chromosome`` and have another allele than their default."""
    return [g for g in space.genes if applies(g, chromosome) and chromosome[g.name] != g.default]


def only(space: Space, chromosome: Chromosome, kept: Collection[str]) -> dict[str, Allele]:
    """Return ``chromosome`` with all genes but those in ``kept`` at their defaults."""
    return space.repair({name: chromosome[name] for name in space.names if name in kept})


def confirm(
    space: Space,
    effects: Effects,
    winner: Chromosome,
    runs: Runs,
    scenarios: Sequence[str],
    repeats: int = REPEATS,
) -> Confirmed:
    """Return the genes of ``winner`` confirmed by ``runs``, and the chromosomes to run next.

    ``effects`` are those of the search. Called again with the requested runs, it continues; with
    the same runs it returns the same.
    """
    ranked = _ranked(space, effects, winner)
    return _Confirmation(space, winner, runs, scenarios, repeats).result(ranked)


def _ranked(space: Space, effects: Effects, winner: Chromosome) -> list[tuple[str, bool]]:
    """Return the winner's genes by likely saving, and whether each likely saves."""
    by_name = {effect.gene: effect for effect in effects.genes}
    found = [
        (gene.name, *_likely(by_name.get(gene.name), winner[gene.name]))
        for gene in differing(space, winner)
    ]
    found.sort(key=lambda one: (not one[1], one[2]))
    return [(name, likely) for name, likely, _ in found]


def _likely(effect: GeneEffect | None, allele: Allele) -> tuple[bool, float]:
    level = effect.of(allele) if effect else None
    if effect is None or level is None:
        return False, 0.0
    return effect.verdict != "not shown" and level.effect < -NEGLIGIBLE, level.effect


class _Lacking(Exception):
    """Runs are missing."""


class _Confirmation:
    def __init__(
        self,
        space: Space,
        winner: Chromosome,
        runs: Runs,
        scenarios: Sequence[str],
        repeats: int,
    ) -> None:
        self._space = space
        self._winner = winner
        self._runs = runs
        self._scenarios = scenarios
        self._repeats = repeats
        self._lacking: list[Chromosome] = []

    def result(self, ranked: list[tuple[str, bool]]) -> Confirmed:
        kept = [name for name, likely in ranked if likely]
        gains: dict[str, Change] = {}
        try:
            kept = self._enough([name for name, _ in ranked], kept)
            gains = self._gains(kept)
            kept = self._needed(kept, gains)
        except _Lacking:
            pass
        return self._confirmed(kept, gains)

    def _confirmed(self, kept: list[str], gains: dict[str, Change]) -> Confirmed:
        chromosome = self._only(kept)
        defaults = {gene.name: gene.default for gene in self._space.genes}
        return Confirmed(
            chromosome,
            tuple(
                Gain(name, chromosome[name], defaults[name], gains[name])
                for name in kept
                if name in gains
            ),
            self._runs.change(chromosome, self._space.default()),
            self._runs.change(chromosome, self._winner),
            tuple(self._lacking),
        )

    def _enough(self, ranked: list[str], kept: list[str]) -> list[str]:
        """Return the shortest prefix of the ranked genes that is as good as all of them."""
        self._need([self._space.default(), self._winner, self._only(kept)])
        while len(kept) < len(ranked) and self._too_few(kept, [self._winner], CONFIDENCE):
            kept = ranked[: max(2 * len(kept), 1)]
            self._need([self._only(kept)])
        return kept

    def _gains(self, kept: list[str]) -> dict[str, Change]:
        """Return the effect of each gene: the cost with all genes against that without the gene.

        The intervals are simultaneous (Bonferroni's correction).
        """
        confidence = 1 - (1 - CONFIDENCE) / max(len(kept), 1)
        without = {name: self._only([k for k in kept if k != name]) for name in kept}
        self._need(without.values())
        return {
            name: self._change(self._only(kept), other, confidence)
            for name, other in without.items()
        }

    def _needed(self, kept: list[str], gains: dict[str, Change]) -> list[str]:
        """Return the genes that save, and of those that only do so for each other, enough."""
        needed = [name for name in kept if gains[name].saves]
        dropped = sorted((k for k in kept if k not in needed), key=lambda k: gains[k].effect)
        self._need([self._only(needed)])
        than = (self._only(kept), self._winner)
        while dropped and self._too_few(needed, than, _SURE):
            needed.append(dropped.pop(0))
            self._need([self._only(needed)])
        return needed

    def _only(self, kept: Collection[str]) -> dict[str, Allele]:
        return only(self._space, self._winner, kept)

    def _too_few(
        self, kept: Collection[str], than: Iterable[Chromosome], confidence: float
    ) -> bool:
        """Return whether these genes alone cost more than any of ``than``.

        Or are measured slower than the default, unlike the winner: runs that vary widely do not
        show that they cost more, however slow they are.
        """
        alone = self._only(kept)
        if any(self._change(alone, one, confidence).costs for one in than):
            return True
        default = self._space.default()
        alone_over, winner_over = (
            self._change(one, default).effect for one in (alone, self._winner)
        )
        return alone_over > NEGLIGIBLE >= winner_over

    def _change(
        self, chromosome: Chromosome, other: Chromosome, confidence: float = CONFIDENCE
    ) -> Change:
        change = self._runs.change(chromosome, other, confidence=confidence)
        assert change is not None, "both were run"
        return change

    def _need(self, chromosomes: Iterable[Chromosome]) -> None:
        """Raise _Lacking if one of them was not run often enough."""
        unique = {key_of(chromosome): chromosome for chromosome in chromosomes}
        self._lacking = [
            one for one in unique.values() if self._runs.count(one, self._scenarios) < self._repeats
        ]
        if self._lacking:
            raise _Lacking
