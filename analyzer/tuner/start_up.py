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
from collections.abc import Collection, Iterator, Mapping, Sequence
from random import Random

import numpy as np

from analyzer.tuner import operators
from analyzer.tuner.engine import Scored
from analyzer.tuner.genes import Allele, Chromosome, Mutation, Space
from analyzer.tuner.operators import Child
from analyzer.tuner.predicted import Prediction
from analyzer.tuner.recipe import StartUp
from analyzer.tuner.samplers import distinct, shuffled
from analyzer.tuner.surrogate import Guess, Surrogate, expected_improvement

CLUTCHES = 8  # times the brood's size are bred at most: most of a late brood is known already
FAR = 2.0  # times the best's seconds
GROWN = 1.05  # times what was known: then it is found out anew which genes matter
Key = tuple[Allele, ...]


class StartUpEngine:
    """A population that remembers all it has measured, and measures nothing twice.

    ``predicted``: seconds by read_ahead_kb.
    """

    def __init__(
        self,
        recipe: StartUp,
        space: Space,
        seed: int,
        seeds: Sequence[Chromosome] = (),
        predicted: Mapping[int, float] | None = None,
    ) -> None:
        self.recipe = recipe
        self.prediction = Prediction(predicted or {})
        self.space = self.prediction.pruned(space, recipe.hopeless)
        self.rng = Random(seed)
        self.model = Surrogate(self.space)
        self.told: dict[Key, Scored] = {}
        self._fitted = 0  # how many were known when it was last found out which genes matter
        self._chance = shuffled(self.space, Random(seed))
        self._founders = list(distinct(self.space, self._found(seeds)))

    def ask(self) -> list[Chromosome]:
        """Return the founders, then the most promising of each brood; none when all are known."""
        asked: list[Chromosome] = list(self._founders)
        while not self._founders and len(asked) < self.recipe.children:
            self._learn(asked)
            child = self._promising(asked)
            if child is None:
                break
            asked.append(child)
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
        yield default | self.prediction.window(self.space)
        for row, child in enumerate(operators.spread(self.space, self.recipe.founders, self.rng)):
            aside = self.prediction.window(self.space, (0, -1, 1)[row % 3])
            yield self.space.repair(child | aside)

    def _learn(self, asked: Sequence[Chromosome]) -> None:
        """Teach the model what is known, as if the children ``asked`` were worth what it guesses.

        The next child of the same generation is then another one (the kriging believer of
        Ginsbourger, Le Riche and Carraro 2010). What is ``FAR`` worse than the best, or failed,
        counts as just that: how much worse does not help to find the best, and beside a start
        that takes fifty times as long all others would seem alike.
        """
        told = list(self.told.values())
        least = max((one.fitness for one in told), default=0.0) / FAR or 1.0
        worth = [math.log(max(one.fitness, least)) for one in told]
        if asked:
            worth += self._guess(asked).mean.tolist()
        everyone = [*(one.chromosome for one in told), *asked]
        expected = self.prediction.gains(self.space, everyone)
        fit = not asked and len(told) >= GROWN * self._fitted
        self._fitted = len(told) if fit else self._fitted
        self.model.learn(everyone, np.array(worth), expected, fit)

    def _guess(self, chromosomes: Sequence[Chromosome]) -> Guess:
        return self.model.guess(chromosomes, self.prediction.gains(self.space, chromosomes))

    def _promising(self, asked: Sequence[Chromosome]) -> Chromosome | None:
        """Return the child of a new brood whose improvement can be expected to be largest."""
        taken = self.told.keys() | {self.space.key(child) for child in asked}
        parents = sorted(self.told.values(), key=lambda one: -one.fitness)
        parents = parents[: self.recipe.population]
        brood = self._brood(parents, taken)
        if not brood:
            return next((one for one in self._chance if self.space.key(one) not in taken), None)
        best = self._guess([one.chromosome for one in parents]).mean.max()
        hopes = expected_improvement(self._guess(brood), float(best))
        return brood[int(np.argmax(hopes))]

    def _brood(self, parents: Sequence[Scored], taken: Collection[Key]) -> list[Child]:
        """Return different children of the fittest that are not ``taken``."""
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
        """Return each gene's chance: one mutation in a child, half of it where it matters."""
        matters = self.model.matters
        even = 1 / len(matters)
        return [0.5 * even + 0.5 * float(s) for s in matters / matters.sum()]

    def _mutated(self, child: Child, rates: Sequence[float]) -> Child:
        for gene, rate in zip(self.space.genes, rates, strict=True):
            if self.rng.random() < rate:
                how: Mutation = self.rng.choice(("new", "step"))
                child[gene.name] = operators.mutate(gene, child[gene.name], self.rng, how)
        return self.space.repair(child)
