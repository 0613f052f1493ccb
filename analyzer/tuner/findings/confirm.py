"""Confirms the result of a search, gene by gene, within a number of runs.

A search ends with a chromosome in which most genes have random values, and which was selected
because its runs were good. Separate runs correct both: of the default, of the default with the
predicted window, of the winner, of the winner with only the genes that likely save something, and
of that chromosome with each of its genes reset. The measurements of the search do not enter the
figures, so the luck that made a chromosome the winner does not count as its gain.

A gene is *proven alone* if the start certainly takes longer without it. Other genes may save
together: if two of them do the same, each can be reset without a loss. They are kept if the start
certainly takes longer without all of them: *proven together*. All others are reset.

Every chromosome gets a few runs first. A comparison that shows more than a negligible saving, but
not with certainty, gets more of them, as far as the remaining runs last (``LADDER``). Data that are
looked at repeatedly mislead more often than once, so a decision needs the confidence ``SURE``.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from foreread.analyzer.tuner.campaign.budget import LADDER
from foreread.analyzer.tuner.engines.racing import NEGLIGIBLE
from foreread.analyzer.tuner.evaluation import key_of
from foreread.analyzer.tuner.findings.compare import CONFIDENCE, Change, Runs
from foreread.analyzer.tuner.findings.effects import Effects, GeneEffect
from foreread.analyzer.tuner.space.genes import Allele, Chromosome, Gene, Space, applies

SURE = 1 - (1 - CONFIDENCE) / 2
SHOWN = LADDER[1]  # runs of the reported chromosomes, if enough remain
_PROMISING = 0.4  # share of the interval's half: a saving that more runs may show
Answer = Literal["tuned", "predicted", "default"]


@dataclass(frozen=True)
class Gain:
    """A kept gene; ``change``: the relative cost compared with a chromosome without it.

    ``alone``: the change is certain; otherwise ``ProvenGenes.together`` is.
    """

    gene: str
    allele: Allele
    default: Allele
    change: Change
    alone: bool = True


@dataclass(frozen=True)
class Repeats:
    """A chromosome, and the number of good runs that it needs in each scenario."""

    chromosome: Chromosome
    runs: int


@dataclass(frozen=True)
class ProvenGenes:
    """The chromosome to set, as far as decided: only the proven genes.

    ``answer``: whether that is part of the winner, the predicted window alone, or the default.
    ``together``: the change by all genes that are not proven alone. ``over_default``,
    ``over_winner`` and ``over_predicted`` compare the chromosome; ``predicted`` compares the
    predicted window alone with the default. ``to_run``: the runs that the next decision needs;
    empty when all is decided.
    """

    chromosome: Chromosome
    answer: Answer = "default"
    gains: tuple[Gain, ...] = ()
    together: Change | None = None
    over_default: Change | None = None
    over_winner: Change | None = None
    over_predicted: Change | None = None
    predicted: Change | None = None
    to_run: tuple[Repeats, ...] = ()


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
    predicted: Chromosome | None = None,
    runs_left: int | None = None,
) -> ProvenGenes:
    """Return the genes of ``winner`` confirmed by ``runs``, and the runs to make next.

    ``effects`` are the search's; ``predicted``: the default with the predicted window;
    ``runs_left``: the number of runs that may still be made, None without a limit. The runs of
    these three chromosomes are requested in any case. A second call with the requested runs
    continues; with the same runs it returns the same.
    """
    ranked = _ranked(space, effects, winner, predicted)
    return _Confirmation(space, winner, predicted, runs, scenarios, runs_left).result(ranked)


def _ranked(
    space: Space, effects: Effects, winner: Chromosome, predicted: Chromosome | None
) -> list[tuple[str, bool]]:
    """Return the winner's genes by likely saving, and whether each likely saves.

    A predicted allele likely saves, whatever the search's effects are.
    """
    by_name = {effect.gene: effect for effect in effects.genes}
    likely_savings = []
    for gene in differing(space, winner):
        likely, saving = _likely(by_name.get(gene.name), winner[gene.name])
        foreseen = predicted is not None and winner[gene.name] == predicted[gene.name]
        likely_savings.append((gene.name, likely or foreseen, saving))
    likely_savings.sort(key=lambda saving_gene: (not saving_gene[1], saving_gene[2]))
    return [(name, likely) for name, likely, _ in likely_savings]


def _likely(effect: GeneEffect | None, allele: Allele) -> tuple[bool, float]:
    level = effect.of(allele) if effect else None
    if effect is None or level is None:
        return False, 0.0
    return effect.verdict != "not shown" and level.effect < -NEGLIGIBLE, level.effect


@dataclass(frozen=True)
class _Proven:
    """Genes proven alone and together, and the joint change of the latter."""

    alone: list[str]
    together: list[str] = field(default_factory=list)
    joint: Change | None = None


class _Lacking(Exception):
    """Runs are missing, and can be made."""


class _Unaffordable(Exception):
    """Runs are missing, and too few remain."""


class _Confirmation:
    def __init__(
        self,
        space: Space,
        winner: Chromosome,
        predicted: Chromosome | None,
        runs: Runs,
        scenarios: Sequence[str],
        runs_left: int | None,
    ) -> None:
        self._space = space
        self._winner = winner
        self._predicted = predicted
        self._runs = runs
        self._scenarios = scenarios
        self._left = runs_left
        self._lacking: list[Repeats] = []

    def result(self, ranked: list[tuple[str, bool]]) -> ProvenGenes:
        kept = [name for name, likely in ranked if likely]
        try:
            self._need(self._rows, whatever=True)
            kept = self._enough([name for name, _ in ranked], kept)
            gains = self._gains(kept)
            proven = self._answered(self._proven(kept, gains), gains)
            self._need([*self._rows, proven.chromosome], SHOWN)
        except _Unaffordable:
            pass
        except _Lacking:
            proven = ProvenGenes(self._only(kept), to_run=tuple(self._lacking))
        return self._compared(proven)

    @property
    def _rows(self) -> list[Chromosome]:
        foreseen = [] if self._predicted is None else [self._predicted]
        return [self._space.default(), *foreseen, self._winner]

    def _answered(self, proven: _Proven, gains: dict[str, Change]) -> ProvenGenes:
        """Return the tuned genes, or fewer if the runs do not show that they are better."""
        tuned: Chromosome = self._only([*proven.alone, *proven.together])
        default, foreseen = self._space.default(), self._predicted
        base = foreseen if foreseen is not None and self._shows(foreseen, default) else default
        if tuned != base and not self._shows(tuned, base):
            tuned = base
        if tuned == default:
            return ProvenGenes(default)
        if tuned == foreseen:
            return self._foreseen(tuned)
        kept = [self._gain(tuned, name, gains[name]) for name in proven.alone]
        for name in proven.together:
            kept.append(self._gain(tuned, name, gains.get(name, proven.joint), alone=False))
        return ProvenGenes(tuned, "tuned", tuple(kept), proven.joint)

    def _foreseen(self, chromosome: Chromosome) -> ProvenGenes:
        """Return the predicted window alone as the answer; several disks have several windows."""
        change = self._change(chromosome, self._space.default(), SURE)
        names = [gene.name for gene in differing(self._space, chromosome)]
        alone = len(names) == 1
        kept = tuple(self._gain(chromosome, name, change, alone) for name in names)
        return ProvenGenes(chromosome, "predicted", kept, None if alone else change)

    def _gain(
        self, chromosome: Chromosome, name: str, change: Change | None, alone: bool = True
    ) -> Gain:
        assert change is not None, "genes that are proven together have a change"
        return Gain(name, chromosome[name], self._space.gene(name).default, change, alone)

    def _compared(self, proven: ProvenGenes) -> ProvenGenes:
        """Return the genes with comparisons to the other rows; None where runs are missing."""
        default, chromosome = self._space.default(), proven.chromosome
        proven = replace(
            proven,
            over_default=self._runs.change(chromosome, default),
            over_winner=self._runs.change(chromosome, self._winner),
        )
        if self._predicted is None:
            return proven
        return replace(
            proven,
            over_predicted=self._runs.change(chromosome, self._predicted),
            predicted=self._runs.change(self._predicted, default),
        )

    def _enough(self, ranked: list[str], kept: list[str]) -> list[str]:
        """Return the shortest prefix of the ranked genes that is as good as all of them."""
        try:
            while len(kept) < len(ranked):
                self._need([self._only(kept)])
                if not self._too_few(kept):
                    return kept
                kept = ranked[: max(2 * len(kept), 1)]
        except _Unaffordable:
            pass
        return ranked

    def _too_few(self, kept: Collection[str]) -> bool:
        """Return whether these genes alone cost more than the winner.

        Also if they are measured slower than the default, unlike the winner: runs that vary widely
        do not show that they cost more, however slow they are.
        """
        alone = self._only(kept)
        if self._shows(self._winner, alone):
            return True
        default = self._space.default()
        alone_over, winner_over = (
            self._change(each, default).effect for each in (alone, self._winner)
        )
        return alone_over > NEGLIGIBLE >= winner_over

    def _gains(self, kept: list[str]) -> dict[str, Change]:
        """Return the effect of each gene: the cost with all genes against the cost without it.

        The intervals are simultaneous (Bonferroni's correction). If too few runs remain for all
        genes, only the first genes have an effect, and the runs are reserved that compare all genes
        with the genes proven alone.
        """
        whole = self._only(kept)
        without = {name: self._only([k for k in kept if k != name]) for name in kept}
        spare = 0
        while without:
            try:
                self._need([whole, *without.values()], spare=spare)
                break
            except _Unaffordable:
                without.popitem()
                spare = LADDER[0]
        confidence = 1 - (1 - SURE) / max(len(without), 1)
        changes = self._decided([(whole, other) for other in without.values()], confidence)
        return dict(zip(without, changes, strict=True))

    def _proven(self, kept: list[str], gains: dict[str, Change]) -> _Proven:
        """Return the genes that are proven alone, and the genes that are proven only together.

        The latter save in addition to the former. Where the former by themselves cannot be run any
        more, or are not shown to save, all of them together may save against the default.
        """
        alone = [name for name in kept if name in gains and gains[name].saves]
        rest = [name for name in kept if name not in alone]
        rest.sort(key=lambda name: gains[name].effect if name in gains else 0.0)
        whole, base, default = self._only(kept), self._only(alone), self._space.default()
        if not rest:
            return _Proven(alone)
        try:
            self._need([base])
            if self._shows(whole, base):
                some = self._fewest(alone, rest)
                return _Proven(alone, some, self._change(self._only([*alone, *some]), base, SURE))
            if not alone or self._shows(base, default):
                return _Proven(alone)
        except _Unaffordable:
            pass
        if self._shows(whole, default):
            return _Proven([], kept, self._change(whole, default, SURE))
        return _Proven([])

    def _fewest(self, alone: list[str], rest: list[str]) -> list[str]:
        """Return the first of the ``rest`` that are as good as all of them, with ``alone``."""
        whole, base = self._only([*alone, *rest]), self._only(alone)
        count = 1
        while count < len(rest):
            part = self._only([*alone, *rest[:count]])
            try:
                self._need([part])
            except _Unaffordable:
                break
            if self._shows(part, base) and not self._shows(whole, part):
                return rest[:count]
            count *= 2
        return rest

    def _only(self, kept: Collection[str]) -> dict[str, Allele]:
        return only(self._space, self._winner, kept)

    def _shows(self, faster: Chromosome, other: Chromosome) -> bool:
        """Return whether the runs show that ``faster`` costs less than ``other``."""
        return self._decided([(faster, other)], SURE)[0].saves

    def _decided(
        self, pairs: Sequence[tuple[Chromosome, Chromosome]], confidence: float
    ) -> list[Change]:
        """Return the changes of pairs; raise _Lacking if more runs can decide some of them."""
        changes = [self._change(first, second, confidence) for first, second in pairs]
        undecided = [
            (change.effect, pair)
            for change, pair in zip(changes, pairs, strict=True)
            if _promising(change)
        ]
        needed: dict[str, Repeats] = {}
        for _, pair in sorted(undecided, key=lambda entry: entry[0]):
            more = needed | {key_of(repeat.chromosome): repeat for repeat in self._next(pair)}
            if self._affords(more.values()):
                needed = more
        if needed:
            self._lacking = list(needed.values())
            raise _Lacking
        return changes

    def _next(self, pair: tuple[Chromosome, Chromosome]) -> list[Repeats]:
        """Return the next number of runs of a pair: more of the one with fewer, or of both."""
        fewest = min(map(self._count, pair))
        higher = [runs for runs in LADDER if runs > fewest]
        return [
            Repeats(chromosome, runs)
            for runs in higher[:1]
            for chromosome in pair
            if self._count(chromosome) < runs
        ]

    def _change(
        self, chromosome: Chromosome, other: Chromosome, confidence: float = CONFIDENCE
    ) -> Change:
        change = self._runs.change(chromosome, other, confidence=confidence)
        assert change is not None, "both were run"
        return change

    def _need(
        self,
        chromosomes: Iterable[Chromosome],
        runs: int = LADDER[0],
        whatever: bool = False,
        spare: int = 0,
    ) -> None:
        """Raise _Lacking if a chromosome has fewer runs, or _Unaffordable.

        ``whatever``: also if too few runs remain; ``spare``: runs of a further chromosome that must
        remain then.
        """
        unique = {key_of(chromosome): chromosome for chromosome in chromosomes}
        lacking = [
            Repeats(chromosome, runs)
            for chromosome in unique.values()
            if self._count(chromosome) < runs
        ]
        if not lacking:
            return
        if not whatever and not self._affords(lacking, spare):
            raise _Unaffordable
        self._lacking = lacking
        raise _Lacking

    def _affords(self, repeats: Iterable[Repeats], spare: int = 0) -> bool:
        rounds = spare + sum(repeat.runs - self._count(repeat.chromosome) for repeat in repeats)
        return self._left is None or rounds * len(self._scenarios) <= self._left

    def _count(self, chromosome: Chromosome) -> int:
        return self._runs.count(chromosome, self._scenarios)


def _promising(change: Change) -> bool:
    """Return whether a saving is not shown, and more runs may show it."""
    if change.saves or change.high is None or change.effect >= -NEGLIGIBLE:
        return False
    saving, end = -math.log1p(change.effect), math.log1p(change.high)
    return saving >= _PROMISING * (saving + end)
