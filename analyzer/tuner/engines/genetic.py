"""The genetic algorithms of the papers, as described by their recipes (recipes/*.toml)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from foreread.analyzer.tuner.engine import Scored
from foreread.analyzer.tuner.engines import operators
from foreread.analyzer.tuner.engines.niches import fill, survivors
from foreread.analyzer.tuner.engines.operators import Child
from foreread.analyzer.tuner.engines.phenotypes import general_fitness
from foreread.analyzer.tuner.engines.recipe import Genetic
from foreread.analyzer.tuner.space.genes import Allele, Chromosome, Gene, Space


class GeneticEngine:
    """A population under selection, crossover and mutation.

    ``seeds`` come first in the first generation. ``replaces = "worst"`` requests children only, as
    the fitness of their parents is known; otherwise the whole population is requested again, so
    that a change of the workload is noticed.
    """

    def __init__(
        self, recipe: Genetic, space: Space, seed: int, seeds: Sequence[Chromosome] = ()
    ) -> None:
        self.recipe, self.space = recipe, space
        self.rng = Random(seed)
        self.generation = 0
        self.mutation_rate = recipe.mutation.rate
        self.average: float | None = None
        self.pool: list[Scored] = []
        self.children: list[Child] = self._first(seeds)

    def ask(self) -> list[Chromosome]:
        """Return the generation to evaluate; empty after the recipe's last."""
        last = self.recipe.generations
        return [] if last and self.generation >= last else list(self.children)

    def tell(self, scored: Sequence[Scored]) -> None:
        """Make the next generation from the fitness of this one."""
        self.generation += 1
        self._set_rate(sum(child.fitness for child in scored) / max(len(scored), 1))
        breed = {"all": self._generational, "worse-half": self._steady, "worst": self._merged}
        self.children = breed[self.recipe.replaces](scored)

    def reintroduce(self, chromosome: Chromosome) -> None:
        """Replace the first child by ``chromosome`` (Moilanen 2006, 5.5)."""
        self.children[0] = self.space.repair(chromosome)

    def _first(self, seeds: Sequence[Chromosome]) -> list[Child]:
        size, recipe = self.recipe.population, self.recipe
        population: list[Child] = [self.space.repair(seed) for seed in seeds][:size]
        if recipe.niches:
            population = fill(self.space, recipe.niches, population, self.rng)
        missing = size - len(population)
        if recipe.first == "spread":
            return population + operators.spread(self.space, missing, self.rng)
        return population + [operators.random_child(self.space, self.rng) for _ in range(missing)]

    def _set_rate(self, average: float) -> None:
        """Adapt the mutation rate to the average fitness (2005, 2.2.7), or to the generation."""
        mutation, before = self.recipe.mutation, self.average
        self.average = average
        if adapts := mutation.adapts:
            if before is not None and average < before * (1 - adapts.threshold):
                self.mutation_rate = min(self.mutation_rate + adapts.step, adapts.highest)
            elif before is not None and average > before:
                self.mutation_rate = max(self.mutation_rate - adapts.step, adapts.lowest)
        else:
            self.mutation_rate = self._scheduled(mutation.rate, mutation.last_rate)

    def _crossover_rate(self) -> float:
        return self._scheduled(self.recipe.crossover.rate, self.recipe.crossover.last_rate)

    def _scheduled(self, rate: float, last_rate: float | None) -> float:
        if last_rate is None:
            return rate
        steps = max(self.recipe.generations - 1, 1)
        return rate + (last_rate - rate) * min(self.generation / steps, 1.0)

    def _steady(self, scored: Sequence[Scored]) -> list[Child]:
        """Replace the worse half by children of the better half; any of them may mutate."""
        fitness = general_fitness(self.recipe.phenotypes, scored)
        kept = operators.truncation(fitness, (len(scored) + 1) // 2)
        parents = [scored[index].chromosome for index in kept]
        worth = [fitness[index] for index in kept]
        missing = len(scored) - len(parents)
        children = self._children(parents, worth, missing, self._crossover_rate())
        return [self._mutated(child) for child in [*map(dict, parents), *children]]

    def _generational(self, scored: Sequence[Scored]) -> list[Child]:
        """Replace the whole population by mutated children."""
        fitness = general_fitness(self.recipe.phenotypes, scored)
        everyone = [child.chromosome for child in scored]
        children = self._children(everyone, fitness, len(scored), self._crossover_rate())
        return [self._mutated(child) for child in children]

    def _merged(self, scored: Sequence[Scored]) -> list[Child]:
        """Keep the best of old and new; request children, and mutants of random ones."""
        self.pool = survivors([*self.pool, *scored], self.recipe.population, self.recipe.niches)
        everyone = [child.chromosome for child in self.pool]
        worth = [child.fitness for child in self.pool]
        rate = self._crossover_rate()
        children = self._children(everyone, worth, round(rate * len(everyone)), rate=1.0)
        return children + [
            self._mutant(dict(parent))
            for parent in everyone
            if self.rng.random() < self.mutation_rate
        ]

    def _children(
        self, everyone: Sequence[Chromosome], worth: Sequence[float], count: int, rate: float
    ) -> list[Child]:
        """Return ``count`` children; ``rate`` is the probability that their parents are crossed."""
        children: list[Child] = []
        while len(children) < count:
            first, other = (everyone[index] for index in self._parents(worth))
            crossed = self.rng.random() < rate
            children += self._crossed(first, other) if crossed else [dict(first), dict(other)]
        return [self._valid(child) for child in children[:count]]

    def _parents(self, worth: Sequence[float]) -> list[int]:
        if self.recipe.parents == "roulette":
            return operators.roulette(worth, 2, self.rng)
        if self.recipe.parents == "tournament":
            return operators.tournament(worth, 2, self.recipe.tournament, self.rng)
        return self.rng.sample(range(len(worth)), 2) if len(worth) > 1 else [0, 0]

    def _crossed(self, one_parent: Chromosome, other: Chromosome) -> Sequence[Child]:
        if self.recipe.chromosome == "bits":
            code, other_code = (
                operators.encode(self.space, parent) for parent in (one_parent, other)
            )
            crossed = operators.single_point_bits(code, other_code, self.rng)
            return [operators.decode(self.space, code) for code in crossed]
        if self.recipe.crossover.kind == "blend":
            return [operators.blend(self.space, one_parent, other, self.rng)]
        if self.recipe.crossover.kind == "uniform":
            return operators.uniform(self.space, one_parent, other, self.rng)
        return operators.single_point(self.space, one_parent, other, self.rng)

    def _mutated(self, child: Child) -> Child:
        """Return ``child`` with mutations by chance."""
        if self.recipe.mutation.of == "chromosomes":
            return self._mutant(child) if self.rng.random() < self.mutation_rate else child
        for gene in self.space.genes:
            if self.rng.random() < self.mutation_rate:
                child = child | {gene.name: self._other_allele(gene, child)}
        return self._valid(child)

    def _mutant(self, child: Child) -> Child:
        """Return ``child`` with exactly one mutation: of a bit, or of a gene."""
        if self.recipe.chromosome == "bits":
            code = operators.flip(operators.encode(self.space, child), self.rng)
            return self._valid(operators.decode(self.space, code))
        gene = self.rng.choice(self.space.genes)
        return self._valid(child | {gene.name: self._other_allele(gene, child)})

    def _other_allele(self, gene: Gene, child: Child) -> Allele:
        return operators.mutate(gene, child[gene.name], self.rng, gene.mutation)

    def _valid(self, child: Child) -> Child:
        return self.space.repair(child) if self.recipe.repair else child
