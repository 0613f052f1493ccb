"""foreread's own genetic algorithm for start-ups: few evaluations, few genes that matter.

A cold start takes seconds to minutes to measure and a child takes none to breed. So a whole brood
is bred, and only its most promising child is measured, according to a model of all measurements
(pre-selection by a surrogate: Jin, *Surrogate-assisted evolutionary computation*, 2011, section 2).
A space that is small enough is its own brood. The genes that the model finds to matter mutate more
often.

Runs differ, and the same model decides when repeating a measured chromosome is more informative
than a new child; it averages over similar chromosomes, so most of them are run once. The best is
the one with the highest expected value, not the luckiest one.

Genes without effect alone may have a large effect together, which the model cannot know before it
has seen them together. So every few children the one most different from all others is measured,
whatever the model predicts. The first ones are the default, it with the predicted window,
and a spread over the space; windows that cannot win according to the prediction are not alleles.
An earlier campaign on a like board (earlier.py) adds its best ones, and what it expects of all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from random import Random

import numpy as np

from analyzer.tuner.engine import Scored
from analyzer.tuner.engines import operators
from analyzer.tuner.engines.earlier import Earlier, Expectation
from analyzer.tuner.engines.listed import distinct
from analyzer.tuner.engines.operators import Child
from analyzer.tuner.engines.predicted import Prediction
from analyzer.tuner.engines.recipe import StartUp
from analyzer.tuner.engines.surrogate import (
    Floats,
    Guess,
    Points,
    Runs,
    Surrogate,
    expected_improvement,
)
from analyzer.tuner.space.genes import Allele, Chromosome, Mutation, Space

WHOLE = 2000  # chromosomes: in a space up to this size all are considered
CLUTCHES = 8  # times the brood's size are bred at most: most of a late brood is known already
FAR = math.log(2.0)  # from the best's log fitness
EQUAL = 1e-6  # parts of a value, so that the last bits of a sum, which vary by CPU, decide nothing
Key = tuple[Allele, ...]
Expects = Callable[[Sequence[Chromosome]], Floats]  # the log fitness of chromosomes


class StartUpEngine:
    """A population that remembers all measurements.

    ``predicted``: seconds by read_ahead_kb. ``earlier``: a campaign on a like board.
    """

    def __init__(
        self,
        recipe: StartUp,
        space: Space,
        seed: int,
        seeds: Sequence[Chromosome] = (),
        predicted: Mapping[int, float] | None = None,
        earlier: Earlier | None = None,
    ) -> None:
        self.recipe = recipe
        self.prediction = Prediction(predicted or {})
        self._expects: list[Expects] = []
        if predicted or earlier is None:
            self._expects.append(partial(self.prediction.gains, space))
        if earlier is not None:
            self._expects.append(Expectation(earlier, seed).gains)
        self.space = self.prediction.pruned(space, recipe.hopeless)
        self.rng = Random(seed)
        self.model = Surrogate(self.space, Random(seed))
        self.results: dict[Key, Scored] = {}
        self._children = 0
        every = self.space.enumerate() if self.space.size <= WHOLE else iter(())
        self._every = {self.space.key(one): one for one in every}
        self._founders = list(distinct(self.space, self._found(seeds)))

    def ask(self) -> list[Chromosome]:
        """Return the founders, then one at a time: a child, or a repeat.

        None when all are known, and had all their runs.
        """
        if self._founders:
            return list(self._founders)
        self._children += 1
        strange = self._children % self.recipe.strange == 0
        asked = self._stranger() if strange else None
        asked = asked or self.promising()
        return [asked] if asked else []

    def ask_several(self, count: int) -> list[Chromosome]:
        """Return as many children or repeats to be run at once; all founders the first time.

        Each is chosen as if those before it had the results that the model expects of them
        (kriging believer: Ginsbourger, Le Riche and Carraro, *Kriging is well-suited to parallelize
        optimization*, 2010, 4.2).
        """
        if self._founders:
            return self.ask()
        known, asked = dict(self.results), list[Chromosome]()
        try:
            while len(asked) < count and (one := self.ask()):
                asked += one
                self._believe(one[0])
        finally:
            self.results = known
        return asked

    def _believe(self, chromosome: Chromosome) -> None:
        """Take the model's estimate as the result of one more run, until the next real ones."""
        gain = float(self._guess([chromosome]).mean.mean())
        before = self.results.get(self.space.key(chromosome))
        gains = [*(_gains(before) if before else ()), gain]
        believed = Scored(chromosome, math.exp(gain), gains=gains)
        self.results[self.space.key(chromosome)] = believed
        self.model.suppose(*self._data())

    def tell(self, scored: Sequence[Scored]) -> None:
        """Process the present fitness of the chromosomes."""
        self._founders = []
        self.results.update({self.space.key(one.chromosome): one for one in scored})
        self._learn()

    def best(self) -> Chromosome:
        """Return the chromosome that is probably best of those with results."""
        return self._good[int(np.argmax(self._guess(self._good).mean.mean(axis=0)))]

    def knows(self, chromosome: Chromosome) -> bool:
        """Return whether it has a result."""
        return self.space.key(chromosome) in self.results

    def promising(self) -> Chromosome | None:
        """Return the chromosome of which one more run can be expected to improve most.

        It is a new one, or one that is measured; None when all are known, and had all their runs.
        """
        return self._most_promising([*self._unknown(self._bred()), *self._repeatable()])

    def promising_repeat(self) -> Chromosome | None:
        """Return the most promising measured one; None if none can be repeated."""
        return self._most_promising(self._repeatable())

    def _found(self, seeds: Sequence[Chromosome]) -> Iterator[Child]:
        default = self.space.default()
        yield from map(self.space.repair, seeds)
        yield default
        yield default | self.prediction.window(self.space)
        yield from operators.spread(self.space, self.recipe.founders, self.rng)

    def _learn(self) -> None:
        """Train the model with the results.

        One that is ``FAR`` worse than the best, or failed, counts as exactly ``FAR`` worse: more
        detail does not help to find the best, and compared with a start that takes fifty times as
        long all others would seem equal.
        """
        self.model.learn(*self._data())

    def _data(self) -> tuple[Points, Runs]:
        known = list(self.results.values())
        gains = [_gains(one) for one in known]
        means = np.array([one.mean() for one in gains])
        least = means.max() - FAR if np.isfinite(means.max()) else 0.0
        squares = sum(
            float(((some - mean) ** 2).sum())
            for some, mean in zip(gains, means, strict=True)
            if mean > least
        )
        counts = np.array([len(one) for one in gains], dtype=np.float64)
        runs = Runs(counts, np.maximum(means, least), squares)
        return self._points([one.chromosome for one in known]), runs

    @property
    def _good(self) -> list[Chromosome]:
        """Those that did not fail; all if all of them did."""
        good = [one.chromosome for one in self.results.values() if one.fitness > 0]
        return good or [one.chromosome for one in self.results.values()]

    def _guess(self, chromosomes: Sequence[Chromosome]) -> Guess:
        return self.model.guess(self._points(chromosomes))

    def _points(self, chromosomes: Sequence[Chromosome]) -> Points:
        expected = [expects(chromosomes) for expects in self._expects]
        return self.model.points(chromosomes, np.stack(expected, axis=1))

    def _stranger(self) -> Chromosome | None:
        """Return the chromosome that is least like all that were measured."""
        strangers = self._unknown(self._random())
        if not strangers:
            return None
        return strangers[self._largest(self.model.strangeness(self._points(strangers)))]

    def _repeatable(self) -> list[Chromosome]:
        return [o.chromosome for o in self.results.values() if o.fitness > 0 and not o.final]

    def _most_promising(self, tried: Sequence[Chromosome]) -> Chromosome | None:
        if not tried:
            return None
        best = self._guess([self.best()]).mean
        return tried[self._largest(expected_improvement(self._guess(tried), best))]

    def _largest(self, values: Floats) -> int:
        """Return where the largest value is, any of them if there are several."""
        return self.rng.choice(np.flatnonzero(values >= values.max() * (1 - EQUAL)).tolist())

    def _unknown(self, children: Iterator[Child]) -> list[Chromosome]:
        """Return a brood of unmeasured chromosomes: all of a small space, else ``children``."""
        if self._every:
            return [one for key, one in self._every.items() if key not in self.results]
        fresh = (child for child in children if self.space.key(child) not in self.results)
        return list(islice(distinct(self.space, fresh), self.recipe.brood))

    def _random(self) -> Iterator[Child]:
        for _ in range(CLUTCHES * self.recipe.brood):
            yield operators.random_child(self.space, self.rng)

    def _bred(self) -> Iterator[Child]:
        """Yield children of the fittest."""
        parents = sorted(self.results.values(), key=lambda one: -one.fitness)
        parents = parents[: self.recipe.population]
        fitness = [one.fitness for one in parents]
        rates = self._mutation_rates()
        for _ in range(CLUTCHES * self.recipe.brood):
            pair = operators.tournament(fitness, 2, self.recipe.tournament, self.rng)
            one, other = (parents[index].chromosome for index in pair)
            child, _ = operators.uniform(self.space, one, other, self.rng)
            yield self._mutated(child, rates)

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


def _gains(one: Scored) -> Floats:
    """Return the log fitness of each run; -inf for one that failed."""
    alone = math.log(one.fitness) if one.fitness > 0 else -math.inf
    return np.array(one.gains if one.gains and one.fitness > 0 else [alone])
