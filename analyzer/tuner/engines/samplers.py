"""Tuners that are not genetic algorithms, to compare with: the whole space, chance, and TPE.

None of them asks for a chromosome twice, so that at equal evaluations none is at a disadvantage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from random import Random
from typing import Any

from analyzer.tuner.engine import Engine, Scored
from analyzer.tuner.engines.operators import random_child
from analyzer.tuner.engines.recipe import RecipeError, Sampler
from analyzer.tuner.space.genes import NONE, Allele, Chromosome, Gene, Space

KNOWN_IN_A_ROW = 50  # known chromosomes that TPE may propose before a random one is taken
RARE = 1000  # draws after which the rest of the space is enumerated


def make_sampler(
    recipe: Sampler, space: Space, seed: int, seeds: Sequence[Chromosome] = ()
) -> Engine:
    """Return the sampler of ``recipe``; raises RecipeError if it needs an uninstalled package."""
    if recipe.kind == "tpe":
        return TpeSampler(space, seed, seeds)
    first = (space.repair(seed) for seed in seeds)
    rest = space.enumerate() if recipe.kind == "exhaustive" else shuffled(space, Random(seed))
    return ListSampler(distinct(space, chain(first, rest)), recipe.batch)


class ListSampler:
    """Requests the chromosomes of an iterator, whatever the results."""

    def __init__(self, chromosomes: Iterator[Chromosome], batch: int) -> None:
        self._rest, self._batch = chromosomes, batch

    def ask(self) -> list[Chromosome]:
        """Return the next batch; none at the iterator's end."""
        return list(islice(self._rest, self._batch))

    def tell(self, scored: Sequence[Scored]) -> None:
        """Learn nothing."""


def distinct(space: Space, chromosomes: Iterator[Chromosome]) -> Iterator[Chromosome]:
    """Yield each chromosome once."""
    seen = set()
    for chromosome in chromosomes:
        if (key := space.key(chromosome)) not in seen:
            seen.add(key)
            yield chromosome


def shuffled(space: Space, rng: Random) -> Iterator[Chromosome]:
    """Yield random chromosomes, and the rest of the space when new ones have become rare."""
    seen = set()
    unlucky = 0
    while unlucky < RARE:
        child = random_child(space, rng)
        if (key := space.key(child)) in seen:
            unlucky += 1
            continue
        unlucky = 0
        seen.add(key)
        yield child
    rest = [child for child in space.enumerate() if space.key(child) not in seen]
    rng.shuffle(rest)
    yield from rest


class TpeSampler:
    """Optuna's tree-structured Parzen estimator, one chromosome at a time.

    Genes are suggested in order, those that apply, numbers by their place among the gene's
    alleles. Repeated proposals are answered from memory.
    """

    def __init__(self, space: Space, seed: int, seeds: Sequence[Chromosome] = ()) -> None:
        optuna = _optuna()
        self._space = space
        self._study = optuna.create_study(
            direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed)
        )
        for chromosome in seeds:
            self._study.enqueue_trial(self._parameters(space.repair(chromosome)))
        self._known: dict[tuple[Allele, ...], float] = {}
        self._chance = shuffled(space, Random(seed))
        self._trial: Any = None

    def ask(self) -> list[Chromosome]:
        """Return one chromosome that was not asked before; none when the space is exhausted."""
        for _ in range(KNOWN_IN_A_ROW):
            self._trial = self._study.ask()
            child = self._suggested(self._trial)
            known = self._known.get(self._space.key(child))
            if known is None:
                return [child]
            self._study.tell(self._trial, known)
        self._trial = None
        unknown = (child for child in self._chance if self._space.key(child) not in self._known)
        return list(islice(unknown, 1))

    def tell(self, scored: Sequence[Scored]) -> None:
        """Take the one's fitness."""
        for one in scored:
            self._known[self._space.key(one.chromosome)] = one.fitness
            if self._trial is None:
                self._study.enqueue_trial(self._parameters(one.chromosome))
            else:
                self._study.tell(self._trial, one.fitness)

    def _suggested(self, trial: Any) -> Chromosome:
        child: dict[str, Allele] = {}
        for gene in self._space.genes:
            applies = self._space.options(gene, child) != (NONE,) or NONE in gene.choices
            child[gene.name] = self._allele(gene, trial) if applies else NONE
        return self._space.repair(child)

    def _allele(self, gene: Gene, trial: Any) -> Allele:
        if gene.ordered:
            return gene.alleles[int(trial.suggest_int(gene.name, 0, len(gene.alleles) - 1))]
        allele: Allele = trial.suggest_categorical(gene.name, tuple(gene.alleles))
        return allele

    def _parameters(self, chromosome: Chromosome) -> dict[str, Allele]:
        return {
            gene.name: gene.alleles.index(allele) if gene.ordered else allele
            for gene in self._space.genes
            if (allele := chromosome[gene.name]) in gene.alleles
        }


def _optuna() -> Any:
    try:
        import optuna  # noqa: PLC0415 - an extra, and a second to import
    except ImportError as error:
        remedy = "install it: pip install 'foreread[optuna]'; or choose another recipe"
        raise RecipeError("the sampler tpe needs Optuna, which is not installed", remedy) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
