"""foreread's own genetic algorithm for start-ups: few evaluations, few genes that matter.

A cold start takes seconds to minutes to measure, and breeding a child takes no time. So a whole
brood is bred, and only its most promising child is measured, according to a model of all
measurements (pre-selection by a surrogate: Jin, *Surrogate-assisted evolutionary computation*,
2011, section 2), and from there the model is climbed, one gene changed at a time. A space that is
small enough is its own brood: there nothing is selected, crossed or mutated. The genes that matter
according to the model mutate more often.

Runs differ, and the same model decides when repeating a measured chromosome is more informative
than a new child; it averages over similar chromosomes, so most of them are run once. The best has
the highest expected value, not the luckiest run. The scenario is one more gene of the model: each
run is made in the scenario where it shows most about the mean over all scenarios.

Genes without effect alone may have a large effect together, which the model cannot know before it
has seen them together. So every few children the one most different from all others is measured,
whatever the model predicts. The first ones are in founders.py. Windows that cannot win according to
the prediction are not tried if the machine is idle in every scenario; genes that cannot act by the
counters of all runs (mechanisms.py) keep their defaults. An earlier campaign on a like board
(earlier.py) adds its best ones, and its expectations of all.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from random import Random

import numpy as np

from foreread.analyzer.tuner.engine import Scored, Wanted
from foreread.analyzer.tuner.engines import operators
from foreread.analyzer.tuner.engines.earlier import Earlier
from foreread.analyzer.tuner.engines.expected import IDLE, Expected, Predictions, is_idle
from foreread.analyzer.tuner.engines.founders import founders
from foreread.analyzer.tuner.engines.listed import distinct
from foreread.analyzer.tuner.engines.operators import Child
from foreread.analyzer.tuner.engines.recipe import StartUp
from foreread.analyzer.tuner.engines.surrogate import (
    Floats,
    Guess,
    Points,
    Runs,
    Surrogate,
    expected_improvement,
)
from foreread.analyzer.tuner.space.genes import Allele, Chromosome, Mutation, Space
from foreread.analyzer.tuner.space.mechanisms import without

WHOLE = 2000  # chromosomes: all are considered in a space of at most this size
CLUTCHES = 8  # times the brood's size at most: most of a late brood is known already
STEPS = 12  # of a climb: most genes of a child are optimal for the model already
FAR = math.log(2.0)  # from the best's log fitness
EQUAL = 1e-6  # share of a value: the last bits of a sum vary by CPU, and must not decide
Key = tuple[Allele, ...]


class StartUpEngine:
    """A population that remembers all measurements.

    ``predicted``: seconds by read_ahead_kb; ``under_load``: the same beside the load of a scenario.
    ``earlier``: a campaign on a like board. ``tried``: the part of the space for present proposals.
    """

    def __init__(
        self,
        recipe: StartUp,
        space: Space,
        seed: int,
        seeds: Sequence[Chromosome] = (),
        predicted: Mapping[int, float] | None = None,
        earlier: Earlier | None = None,
        under_load: Mapping[str, Mapping[int, float]] | None = None,
    ) -> None:
        self.recipe = recipe
        self.space = space
        self._predictions = Predictions(predicted, under_load)
        self._expected = Expected(space, self._predictions, earlier, seed)
        self._seed, self._seeds = seed, seeds
        self.results: dict[Key, Scored] = {}
        self._children = 0
        self._begin({IDLE: 1.0}, (), ())

    def inform(
        self, weights: Mapping[str, float], default: Chromosome, absent: Collection[str]
    ) -> None:
        """Process the scenarios, and the mechanisms without which genes cannot act.

        The default has been run, so the founders do not include it.
        """
        if self.results:
            self._restrict(absent)
        else:
            self._begin(weights, absent, (default,))

    def _begin(
        self,
        weights: Mapping[str, float],
        absent: Collection[str],
        run_already: Sequence[Chromosome],
    ) -> None:
        self.scenarios = tuple(weights)
        self.prediction = self._predictions.mean(weights)
        self.rng = Random(self._seed)
        shares = [weight / sum(weights.values()) for weight in weights.values()]
        self.model = Surrogate(self.space, Random(self._seed), shares)
        self._restrict(absent)
        small, keys = bool(self._every), set(map(self.space.key, run_already))
        first = founders(self.recipe, self.tried, self._seeds, self.prediction, small, self.rng)
        self._founders = [
            chromosome
            for chromosome in distinct(self.space, first)
            if self.space.key(chromosome) not in keys
        ]

    def _restrict(self, absent: Collection[str]) -> None:
        """Restrict proposals: leave out hopeless windows and genes that cannot act."""
        space = without(self.space, absent)
        if all(map(is_idle, self.scenarios)):
            space = self.prediction.pruned(space, self.recipe.hopeless)
        self.tried = space
        whole = space.size <= WHOLE and self.recipe.breeds != "always"
        self._every = (
            {space.key(chromosome): chromosome for chromosome in space.enumerate()} if whole else {}
        )

    def ask(self) -> list[Chromosome]:
        """Return the founders, then one at a time: a child, or a repeat.

        Empty when all are known, and had all their runs.
        """
        if self._founders:
            return list(self._founders)
        self._children += 1
        strange = self._children % self.recipe.strange == 0
        proposal = self._stranger() if strange else None
        proposal = proposal or self._topmost(self.promising())
        return [proposal] if proposal else []

    def ask_runs(self, count: int) -> list[Wanted]:
        """Return as many runs of children or repeats; the founders, in every scenario, at first.

        Each run is chosen as if the earlier ones had the results that the model expects (kriging
        believer: Ginsbourger, Le Riche and Carraro, *Kriging is well-suited to parallelize
        optimization*, 2010, 4.2).
        """
        if self._founders:
            return [Wanted(chromosome) for chromosome in self._founders]
        results, runs = dict(self.results), list[Wanted]()
        try:
            while len(runs) < count and (run := self._next_run()):
                runs.append(run)
                if len(runs) < count:
                    self._believe(run)
        finally:
            self.results = results
        return runs

    def _next_run(self) -> Wanted | None:
        """Return the next run: of a possible best in an unmeasured scenario, else of a child."""
        if (hopeful := self._hopeful()) is not None:
            return self._most_informative(hopeful.chromosome, hopeful.gains.keys())
        proposal = self.ask()
        return self._most_informative(proposal[0], ()) if proposal else None

    def _hopeful(self) -> Scored | None:
        """Return the chromosome that would be the best if it had been run in every scenario.

        The best must have run in all: under an unmeasured load it may be hopeless.
        """
        partial = [
            result
            for result in self.results.values()
            if not result.fitness and result.gains and not result.final
        ]
        if not partial:
            return None
        tried = [self.best(), *(result.chromosome for result in partial)]
        top = int(np.argmax(self._guess(tried).mean.mean(axis=0)))
        return partial[top - 1] if top else None

    def _most_informative(self, chromosome: Chromosome, but: Collection[str]) -> Wanted:
        """Return the most informative possible run of a chromosome, not in ``but``."""
        before = self.results.get(self.space.key(chromosome))
        spent = {*but, *(before.spent if before else ())}
        informs = self.model.informs(self._points([chromosome]))
        informs[[scenario in spent for scenario in self.scenarios]] = -1.0
        return Wanted(chromosome, self.scenarios[self._largest(informs)])

    def _believe(self, run: Wanted) -> None:
        """Use the model's estimate as the result of one more run, until the next real ones."""
        gain = self.gain(run.chromosome)
        key, scenario = self.space.key(run.chromosome), str(run.scenario)
        before = self.results.get(key)
        gains = {**before.gains} if before else {}
        gains[scenario] = [*gains.get(scenario, ()), gain]
        self.results[key] = Scored(run.chromosome, math.exp(gain), gains=gains)
        self.model.suppose(*self._data())

    def tell(self, scored: Sequence[Scored]) -> None:
        """Process the present fitness of the chromosomes."""
        self._founders = []
        self.results.update({self.space.key(score.chromosome): score for score in scored})
        self._learn()

    def best(self) -> Chromosome:
        """Return the probably best chromosome of those with results in every scenario."""
        return self._good[int(np.argmax(self._guess(self._good).mean.mean(axis=0)))]

    def gain(self, chromosome: Chromosome) -> float:
        """Return the model's estimate of a chromosome's log fitness."""
        return float(self._guess([chromosome]).mean.mean())

    def knows(self, chromosome: Chromosome) -> bool:
        """Return whether a chromosome has a result."""
        return self.space.key(chromosome) in self.results

    def promising(self) -> Chromosome | None:
        """Return the chromosome whose next run has the largest expected improvement.

        It may be new or measured; None when all are known, and had all their runs.
        """
        return self._most_promising([*self._unknown(self._bred()), *self._repeatable()])

    def _topmost(self, here: Chromosome | None) -> Chromosome | None:
        """Return the top of a climb from ``here``: one gene after the other is changed.

        It ends where no unmeasured neighbour promises more. A small space is known whole, and a
        recipe that always breeds keeps its child unchanged.
        """
        if here is None or self._every or self.recipe.breeds == "always":
            return here
        best, promise = self._guess([self.best()]).mean, -math.inf
        for _ in range(STEPS):
            near = [
                neighbour for neighbour in self.tried.neighbours(here) if not self.knows(neighbour)
            ]
            if not near:
                return here
            tried = [here, *near]
            promises = expected_improvement(self._guess(tried), best)
            top = self._largest(promises)
            if promises[top] <= promise * (1 + EQUAL) or not top:
                return here
            here, promise = tried[top], float(promises[top])
        return here

    def promising_repeat(self) -> Chromosome | None:
        """Return the most promising measured chromosome; None if none can be repeated."""
        return self._most_promising(self._repeatable())

    def _learn(self) -> None:
        """Train the model with the results.

        A chromosome that is ``FAR`` worse than the best in a scenario, or failed, counts as exactly
        ``FAR`` worse: more detail does not help to find the best, and compared with a start that
        takes fifty times as long all others would seem equal.
        """
        self.model.learn(*self._data())

    def _data(self) -> tuple[Points, Runs]:
        results = list(self.results.values())
        measured = [
            (row, place, runs)
            for row, result in enumerate(results)
            for place, runs in self._runs(result).items()
        ]
        rows = np.array([row for row, _, _ in measured], dtype=np.intp)
        places = np.array([place for _, place, _ in measured], dtype=np.intp)
        means = np.array([runs.mean() for _, _, runs in measured])
        least = np.array([_least(means[places == place]) for place in range(len(self.scenarios))])
        squares = np.zeros(len(self.scenarios))
        for (_, place, runs), mean in zip(measured, means, strict=True):
            if mean > least[place]:
                squares[place] += float(((runs - mean) ** 2).sum())
        counts = np.array([len(runs) for _, _, runs in measured], dtype=np.float64)
        data = Runs(rows, places, counts, np.maximum(means, least[places]), squares)
        return self._points([result.chromosome for result in results]), data

    def _runs(self, result: Scored) -> dict[int, Floats]:
        """Return the log fitness of each run by the scenario's place; -inf for a failed run."""
        gains: Mapping[str, Sequence[float]] = result.gains
        if not gains:
            alone = math.log(result.fitness) if result.fitness > 0 else -math.inf
            gains = {scenario: [alone] for scenario in self.scenarios}
        return {
            place: np.array(gains[scenario])
            for place, scenario in enumerate(self.scenarios)
            if gains.get(scenario)
        }

    @property
    def _good(self) -> list[Chromosome]:
        """The chromosomes with results in every scenario and without a failure; else any."""
        good = [result.chromosome for result in self.results.values() if result.fitness > 0]
        return good or [result.chromosome for result in self.results.values()]

    def _guess(self, chromosomes: Sequence[Chromosome]) -> Guess:
        return self.model.guess(self._points(chromosomes))

    def _points(self, chromosomes: Sequence[Chromosome]) -> Points:
        return self.model.points(chromosomes, *self._expected.of(chromosomes, self.scenarios))

    def _stranger(self) -> Chromosome | None:
        """Return the chromosome least similar to all measured ones."""
        strangers = self._unknown(self._random())
        if not strangers:
            return None
        return strangers[self._largest(self.model.strangeness(self._points(strangers)))]

    def _repeatable(self) -> list[Chromosome]:
        return [
            result.chromosome
            for result in self.results.values()
            if (result.fitness > 0 or result.gains) and not result.final
        ]

    def _most_promising(self, tried: Sequence[Chromosome]) -> Chromosome | None:
        if not tried:
            return None
        best = self._guess([self.best()]).mean
        return tried[self._largest(expected_improvement(self._guess(tried), best))]

    def _largest(self, values: Floats) -> int:
        """Return the index of the largest value; a random one of several."""
        return self.rng.choice(np.flatnonzero(values >= values.max() * (1 - EQUAL)).tolist())

    def _unknown(self, children: Iterator[Child]) -> list[Chromosome]:
        """Return a brood of unmeasured chromosomes: all of a small space, else ``children``."""
        if self._every:
            return [
                chromosome for key, chromosome in self._every.items() if key not in self.results
            ]
        fresh = (child for child in children if self.space.key(child) not in self.results)
        return list(islice(distinct(self.space, fresh), self.recipe.brood))

    def _random(self) -> Iterator[Child]:
        for _ in range(CLUTCHES * self.recipe.brood):
            yield operators.random_child(self.tried, self.rng)

    def _bred(self) -> Iterator[Child]:
        """Yield children of the fittest."""
        parents = sorted(self.results.values(), key=lambda result: -result.fitness)
        parents = parents[: self.recipe.population]
        fitness = [result.fitness for result in parents]
        rates = self._mutation_rates()
        for _ in range(CLUTCHES * self.recipe.brood):
            pair = operators.tournament(fitness, 2, self.recipe.tournament, self.rng)
            one_parent, other = (parents[index].chromosome for index in pair)
            child, _ = operators.uniform(self.tried, one_parent, other, self.rng)
            yield self._mutated(child, rates)

    def _mutation_rates(self) -> list[float]:
        """Return each gene's rate: one mutation in a child, half of it in genes that matter."""
        free = np.array([len(gene.alleles) > 1 for gene in self.tried.genes], dtype=np.float64)
        matters = self.model.matters * free
        if not free.any():
            return [0.0] * len(free)
        rates = 0.5 * free / free.sum() + 0.5 * matters / matters.sum()
        return [float(rate) for rate in rates]

    def _mutated(self, child: Child, rates: Sequence[float]) -> Child:
        for gene, rate in zip(self.tried.genes, rates, strict=True):
            if self.rng.random() < rate:
                how: Mutation = self.rng.choice(("new", "step"))
                child[gene.name] = operators.mutate(gene, child[gene.name], self.rng, how)
        return self.tried.repair(child)


def _least(means: Floats) -> float:
    """Return the lowest log fitness that is not raised, given these means."""
    most = means.max() if len(means) else -math.inf
    return float(most - FAR) if np.isfinite(most) else 0.0
