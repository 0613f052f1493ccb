"""foreread's own genetic algorithm for start-ups: few evaluations, few genes that matter.

A cold start takes seconds to minutes to measure and a child takes none to breed, so each generation
breeds a whole brood and measures only those of it that are most likely to be an improvement, as
told by a model of all that was measured (pre-selection by a surrogate: Jin, *Surrogate-assisted
evolutionary computation*, 2011, section 2). The genes that the model finds to matter mutate more
often. The first generation is founded by the default, the predicted window and its neighbours;
windows that the prediction says cannot win are no alleles at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from random import Random

import msgspec
import numpy as np

from analyzer.tuner import operators
from analyzer.tuner.catalogue import WINDOW
from analyzer.tuner.engine import Scored
from analyzer.tuner.genes import Allele, Chromosome, Gene, Mutation, Space
from analyzer.tuner.operators import Child
from analyzer.tuner.recipe import StartUp
from analyzer.tuner.samplers import distinct, shuffled
from analyzer.tuner.surrogate import Floats, Guess, Surrogate, expected_improvement

Predicted = Mapping[int, float]  # read_ahead_kb → seconds
CLUTCHES = 8  # times the brood's size are bred at most: most of a late brood is known already
Key = tuple[Allele, ...]


def is_window(gene: Gene) -> bool:
    """Return whether this is the window, or one disk's."""
    return gene.name.split(":")[0] == WINDOW


def pruned(space: Space, predicted: Predicted, hopeless: float) -> Space:
    """Return the space without windows predicted to be ``hopeless`` slower (parts of the best).

    The default stays, and so does what nobody predicted.
    """
    limit = (1 + hopeless) * min(predicted.values(), default=math.inf)

    def keep(gene: Gene) -> Gene:
        hopeful = tuple(
            allele
            for allele in gene.alleles
            if allele == gene.default or predicted.get(int(allele), 0.0) <= limit
        )
        return msgspec.structs.replace(gene, choices=hopeful)

    genes = (keep(gene) if is_window(gene) else gene for gene in space.genes)
    return Space(tuple(genes), space.left_out)


class StartUpEngine:
    """A population that remembers all it has measured, and measures nothing twice."""

    def __init__(
        self,
        recipe: StartUp,
        space: Space,
        seed: int,
        seeds: Sequence[Chromosome] = (),
        predicted: Predicted | None = None,
    ) -> None:
        self.recipe = recipe
        self.predicted = dict(predicted or {})
        self.space = pruned(space, self.predicted, recipe.hopeless)
        self.rng = Random(seed)
        self.model = Surrogate(self.space)
        self.told: dict[Key, Scored] = {}
        self._chance = shuffled(self.space, Random(seed))
        self._founders = list(distinct(self.space, self._found(seeds)))

    def ask(self) -> list[Chromosome]:
        """Return the founders, then the most promising of each brood; none when all are known."""
        if self._founders:
            return [*self._founders]
        asked: list[Chromosome] = []
        self._learn(asked, fit=True)
        while len(asked) < self.recipe.children and (child := self._promising(asked)):
            asked.append(child)
            self._learn(asked, fit=False)
        return asked

    def tell(self, scored: Sequence[Scored]) -> None:
        """Remember what the generation was worth."""
        self._founders = []
        for one in scored:
            self.told[self.space.key(one.chromosome)] = one

    def _found(self, seeds: Sequence[Chromosome]) -> Iterator[Child]:
        """Yield the seeds, the default, it with the predicted window, and a spread around that."""
        default = self.space.default()
        yield from map(self.space.repair, seeds)
        yield default
        yield default | self._window(0)
        for row, child in enumerate(operators.spread(self.space, self.recipe.founders, self.rng)):
            yield self.space.repair(child | self._window((0, -1, 1)[row % 3]))

    def _window(self, aside: int) -> Child:
        """Return the predicted window, or one so many places aside; nothing without prediction."""
        chosen: Child = {}
        for gene in filter(is_window, self.space.genes):
            known = [allele for allele in gene.alleles if allele in self.predicted]
            if known:
                best = min(range(len(known)), key=lambda at: self.predicted[int(known[at])])
                chosen[gene.name] = known[max(0, min(best + aside, len(known) - 1))]
        return chosen

    def _expected(self, chromosomes: Sequence[Chromosome]) -> Floats:
        """Return the log fitness that the prediction gives, the default's being 0."""
        windows = [gene for gene in self.space.genes if is_window(gene)]
        gains = {gene.name: self._gains(gene) for gene in windows}
        sums = [
            sum(gains[gene.name].get(one[gene.name], 0.0) for gene in windows)
            for one in chromosomes
        ]
        return np.array(sums) / max(len(windows), 1)

    def _gains(self, gene: Gene) -> dict[Allele, float]:
        default = self.predicted.get(int(gene.default))
        if not default:
            return {}
        return {window: math.log(default / seconds) for window, seconds in self.predicted.items()}

    def _learn(self, asked: Sequence[Chromosome], fit: bool) -> None:
        """Teach the model what is known, as if the children ``asked`` were worth what it guesses.

        (The kriging believer of Ginsbourger, Le Riche and Carraro 2010: the next child of the same
        generation is then another one.)
        """
        known = list(self.told.values())
        least = min((one.fitness for one in known if one.fitness > 0), default=1.0)
        worth = [math.log(max(one.fitness, least)) for one in known]
        everyone = [one.chromosome for one in known] + list(asked)
        if asked:
            worth += self._guess(asked).mean.tolist()
        self.model.learn(everyone, np.array(worth), self._expected(everyone), fit)

    def _guess(self, chromosomes: Sequence[Chromosome]) -> Guess:
        return self.model.guess(chromosomes, self._expected(chromosomes))

    def _promising(self, asked: Sequence[Chromosome]) -> Chromosome | None:
        """Return the child of a new brood whose improvement can be expected to be largest."""
        taken = self.told.keys() | {self.space.key(child) for child in asked}
        brood = self._brood(taken)
        if not brood:
            return next((one for one in self._chance if self.space.key(one) not in taken), None)
        best = max(self._guess([one.chromosome for one in self._parents()]).mean)
        hopes = expected_improvement(self._guess(brood), best)
        return brood[int(np.argmax(hopes))]

    def _parents(self) -> list[Scored]:
        ranked = sorted(self.told.values(), key=lambda one: -one.fitness)
        return ranked[: self.recipe.population]

    def _brood(self, taken: set[Key]) -> list[Child]:
        """Return children of the fittest that are not ``taken``."""
        parents = self._parents()
        fitness = [one.fitness for one in parents]
        rates = self._mutation_rates()
        brood: dict[Key, Child] = {}
        for _ in range(CLUTCHES * self.recipe.brood):
            pair = operators.tournament(fitness, 2, self.recipe.tournament, self.rng)
            one, other = (parents[index].chromosome for index in pair)
            child, _ = operators.uniform(self.space, one, other, self.rng)
            child = self._mutated(child, rates)
            if (key := self.space.key(child)) not in taken:
                brood[key] = child
            if len(brood) == self.recipe.brood:
                break
        return list(brood.values())

    def _mutation_rates(self) -> list[float]:
        """Return each gene's chance: one mutation in a child, by half where it matters."""
        matters = self.model.matters
        even = 1 / len(matters)
        return [0.5 * even + 0.5 * float(s) for s in matters / matters.sum()]

    def _mutated(self, child: Child, rates: Sequence[float]) -> Child:
        for gene, rate in zip(self.space.genes, rates, strict=True):
            if self.rng.random() < rate:
                how: Mutation = self.rng.choice(("new", "step"))
                child[gene.name] = operators.mutate(gene, child[gene.name], self.rng, how)
        return self.space.repair(child)
