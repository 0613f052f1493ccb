"""foreread's own genetic algorithm for start-ups: few evaluations, few genes that matter.

A cold start takes seconds to minutes to measure and a child takes none to breed. So a whole brood
is bred, and only its most promising child is measured, according to a model of all measurements
(pre-selection by a surrogate: Jin, *Surrogate-assisted evolutionary computation*, 2011, section 2),
and from there the model is climbed, one gene changed at a time.
A space that is small enough is its own brood: there nothing is selected, crossed or mutated. The
genes that the model finds to matter mutate more often.

Runs differ, and the same model decides when repeating a measured chromosome is more informative
than a new child; it averages over similar chromosomes, so most of them are run once. The best is
the one with the highest expected value, not the luckiest one. The scenario is one more gene of the
model: each run is made in the scenario where it shows most about the mean over all scenarios.

Genes without effect alone may have a large effect together, which the model cannot know before it
has seen them together. So every few children the one most different from all others is measured,
whatever the model predicts. The first ones are in founders.py. Windows that cannot win according to
the prediction are not tried if the machine is idle in every scenario; genes that cannot act by the
counters of all runs (mechanisms.py) keep their defaults. An earlier campaign on a like board
(earlier.py) adds its best ones, and what it expects of all.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from random import Random

import numpy as np

from analyzer.tuner.engine import Scored, Wanted
from analyzer.tuner.engines import operators
from analyzer.tuner.engines.earlier import Earlier
from analyzer.tuner.engines.expected import IDLE, Expected, is_idle
from analyzer.tuner.engines.founders import founders
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
from analyzer.tuner.space.mechanisms import without

WHOLE = 2000  # chromosomes: in a space up to this size all are considered
CLUTCHES = 8  # times the brood's size are bred at most: most of a late brood is known already
STEPS = 12  # of a climb: most genes of a child are as the model likes them already
FAR = math.log(2.0)  # from the best's log fitness
EQUAL = 1e-6  # parts of a value, so that the last bits of a sum, which vary by CPU, decide nothing
Key = tuple[Allele, ...]


class StartUpEngine:
    """A population that remembers all measurements.

    ``predicted``: seconds by read_ahead_kb. ``earlier``: a campaign on a like board. ``tried``: the
    part of the space that is proposed at present.
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
        self.space = space
        self.prediction = Prediction(predicted or {})
        self._expected = Expected(space, self.prediction, earlier, seed)
        self._seed, self._seeds = seed, seeds
        self.results: dict[Key, Scored] = {}
        self._children = 0
        self._begin({IDLE: 1.0}, (), ())

    def inform(
        self, weights: Mapping[str, float], default: Chromosome, absent: Collection[str]
    ) -> None:
        """Take the scenarios, and the mechanisms without which genes cannot act.

        The default has been run, so the founders do not include it.
        """
        if self.results:
            self._restrict(absent)
        else:
            self._begin(weights, absent, (default,))

    def _begin(
        self, weights: Mapping[str, float], absent: Collection[str], known: Sequence[Chromosome]
    ) -> None:
        self.scenarios = tuple(weights)
        self.rng = Random(self._seed)
        shares = [weight / sum(weights.values()) for weight in weights.values()]
        self.model = Surrogate(self.space, Random(self._seed), shares)
        self._restrict(absent)
        small, keys = bool(self._every), set(map(self.space.key, known))
        first = founders(self.recipe, self.tried, self._seeds, self.prediction, small, self.rng)
        self._founders = [
            one for one in distinct(self.space, first) if self.space.key(one) not in keys
        ]

    def _restrict(self, absent: Collection[str]) -> None:
        """Propose only what may win: hopeless windows and genes that cannot act are left out."""
        space = without(self.space, absent)
        if all(map(is_idle, self.scenarios)):
            space = self.prediction.pruned(space, self.recipe.hopeless)
        self.tried = space
        whole = space.size <= WHOLE and self.recipe.breeds != "always"
        self._every = {space.key(one): one for one in space.enumerate()} if whole else {}

    def ask(self) -> list[Chromosome]:
        """Return the founders, then one at a time: a child, or a repeat.

        None when all are known, and had all their runs.
        """
        if self._founders:
            return list(self._founders)
        self._children += 1
        strange = self._children % self.recipe.strange == 0
        asked = self._stranger() if strange else None
        asked = asked or self._topmost(self.promising())
        return [asked] if asked else []

    def ask_runs(self, count: int) -> list[Wanted]:
        """Return as many runs of children or repeats; the founders, in every scenario, at first.

        Each is chosen as if those before it had the results that the model expects of them
        (kriging believer: Ginsbourger, Le Riche and Carraro, *Kriging is well-suited to parallelize
        optimization*, 2010, 4.2).
        """
        if self._founders:
            return [Wanted(one) for one in self._founders]
        known, asked = dict(self.results), list[Wanted]()
        try:
            while len(asked) < count and (run := self._next_run()):
                asked.append(run)
                if len(asked) < count:
                    self._believe(run)
        finally:
            self.results = known
        return asked

    def _next_run(self) -> Wanted | None:
        """Return the next run: of a possible best where it has none yet, else of a child."""
        if (hopeful := self._hopeful()) is not None:
            return self._most_informative(hopeful.chromosome, hopeful.gains.keys())
        asked = self.ask()
        return self._most_informative(asked[0], ()) if asked else None

    def _hopeful(self) -> Scored | None:
        """Return what would be believed best if it had been run in every scenario.

        The best must have been: beside a load that it never had it may be hopeless.
        """
        partial = [one for one in self.results.values() if not one.fitness and one.gains]
        partial = [one for one in partial if not one.final]
        if not partial:
            return None
        tried = [self.best(), *(one.chromosome for one in partial)]
        top = int(np.argmax(self._guess(tried).mean.mean(axis=0)))
        return partial[top - 1] if top else None

    def _most_informative(self, chromosome: Chromosome, but: Collection[str]) -> Wanted:
        """Return the run of a chromosome that shows most, where it may be run, ``but`` these."""
        before = self.results.get(self.space.key(chromosome))
        spent = {*but, *(before.spent if before else ())}
        informs = self.model.informs(self._points([chromosome]))
        informs[[scenario in spent for scenario in self.scenarios]] = -1.0
        return Wanted(chromosome, self.scenarios[self._largest(informs)])

    def _believe(self, run: Wanted) -> None:
        """Take the model's estimate as the result of one more run, until the next real ones."""
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
        self.results.update({self.space.key(one.chromosome): one for one in scored})
        self._learn()

    def best(self) -> Chromosome:
        """Return the chromosome that is probably best of those with results in every scenario."""
        return self._good[int(np.argmax(self._guess(self._good).mean.mean(axis=0)))]

    def gain(self, chromosome: Chromosome) -> float:
        """Return the log fitness that the model estimates of a chromosome."""
        return float(self._guess([chromosome]).mean.mean())

    def knows(self, chromosome: Chromosome) -> bool:
        """Return whether it has a result."""
        return self.space.key(chromosome) in self.results

    def promising(self) -> Chromosome | None:
        """Return the chromosome of which one more run can be expected to improve most.

        It is a new one, or one that is measured; None when all are known, and had all their runs.
        """
        return self._most_promising([*self._unknown(self._bred()), *self._repeatable()])

    def _topmost(self, here: Chromosome | None) -> Chromosome | None:
        """Return the top of a climb from ``here``: one gene after the other is changed.

        It ends where no neighbour that is not measured promises more. A small space is known whole,
        and a recipe that always breeds takes its child as it is.
        """
        if here is None or self._every or self.recipe.breeds == "always":
            return here
        best, promise = self._guess([self.best()]).mean, -math.inf
        for _ in range(STEPS):
            near = [one for one in self.tried.neighbours(here) if not self.knows(one)]
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
        """Return the most promising measured one; None if none can be repeated."""
        return self._most_promising(self._repeatable())

    def _learn(self) -> None:
        """Train the model with the results.

        One that is ``FAR`` worse than the best in a scenario, or failed, counts as exactly ``FAR``
        worse: more detail does not help to find the best, and compared with a start that takes
        fifty times as long all others would seem equal.
        """
        self.model.learn(*self._data())

    def _data(self) -> tuple[Points, Runs]:
        known = list(self.results.values())
        made = [
            (row, place, runs)
            for row, one in enumerate(known)
            for place, runs in self._runs(one).items()
        ]
        rows = np.array([row for row, _, _ in made], dtype=np.intp)
        places = np.array([place for _, place, _ in made], dtype=np.intp)
        means = np.array([runs.mean() for _, _, runs in made])
        least = np.array([_least(means[places == place]) for place in range(len(self.scenarios))])
        squares = np.zeros(len(self.scenarios))
        for (_, place, runs), mean in zip(made, means, strict=True):
            if mean > least[place]:
                squares[place] += float(((runs - mean) ** 2).sum())
        counts = np.array([len(runs) for _, _, runs in made], dtype=np.float64)
        found = Runs(rows, places, counts, np.maximum(means, least[places]), squares)
        return self._points([one.chromosome for one in known]), found

    def _runs(self, one: Scored) -> dict[int, Floats]:
        """Return the log fitness of each run by the scenario's place; -inf for one that failed."""
        gains: Mapping[str, Sequence[float]] = one.gains
        if not gains:
            alone = math.log(one.fitness) if one.fitness > 0 else -math.inf
            gains = {scenario: [alone] for scenario in self.scenarios}
        return {
            place: np.array(gains[scenario])
            for place, scenario in enumerate(self.scenarios)
            if gains.get(scenario)
        }

    @property
    def _good(self) -> list[Chromosome]:
        """Those that have results in every scenario, and did not fail; else any."""
        good = [one.chromosome for one in self.results.values() if one.fitness > 0]
        return good or [one.chromosome for one in self.results.values()]

    def _guess(self, chromosomes: Sequence[Chromosome]) -> Guess:
        return self.model.guess(self._points(chromosomes))

    def _points(self, chromosomes: Sequence[Chromosome]) -> Points:
        return self.model.points(chromosomes, *self._expected.of(chromosomes, self.scenarios))

    def _stranger(self) -> Chromosome | None:
        """Return the chromosome that is least like all that were measured."""
        strangers = self._unknown(self._random())
        if not strangers:
            return None
        return strangers[self._largest(self.model.strangeness(self._points(strangers)))]

    def _repeatable(self) -> list[Chromosome]:
        return [
            one.chromosome
            for one in self.results.values()
            if (one.fitness > 0 or one.gains) and not one.final
        ]

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
            yield operators.random_child(self.tried, self.rng)

    def _bred(self) -> Iterator[Child]:
        """Yield children of the fittest."""
        parents = sorted(self.results.values(), key=lambda one: -one.fitness)
        parents = parents[: self.recipe.population]
        fitness = [one.fitness for one in parents]
        rates = self._mutation_rates()
        for _ in range(CLUTCHES * self.recipe.brood):
            pair = operators.tournament(fitness, 2, self.recipe.tournament, self.rng)
            one, other = (parents[index].chromosome for index in pair)
            child, _ = operators.uniform(self.tried, one, other, self.rng)
            yield self._mutated(child, rates)

    def _mutation_rates(self) -> list[float]:
        """Return each gene's chance: one mutation in a child, half of it where it matters."""
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
    """Return the lowest log fitness that counts as such beside others of these."""
    most = means.max() if len(means) else -math.inf
    return float(most - FAR) if np.isfinite(most) else 0.0
