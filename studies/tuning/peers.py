"""Samplers of other projects as tuners, for the studies alone: CatCMAwM and SMAC3.

CatCMAwM: Hamano et al., *CatCMA with Margin* (GECCO 2025), of the package ``cmaes``. SMAC3:
Lindauer et al., *SMAC3: A Versatile Bayesian Optimization Package* (JMLR 2022), of the package
``smac``, its random forest for hyperparameters. Both are extras: pip install 'foreread[peers]'.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np

from foreread.analyzer.tuner.engine import Scored
from foreread.analyzer.tuner.engines.listed import distinct
from foreread.analyzer.tuner.engines.recipe import RecipeError
from foreread.analyzer.tuner.space.genes import Allele, Chromosome, Gene, Space

IN_A_ROW = 50  # known proposals after which a peer is not asked again in this generation
LOWEST = 1e-9  # fitness of a failure, whose logarithm is needed


class CatCma:
    """CatCMAwM: numbers by their places as integers, words and pairs as categories.

    It knows neither given chromosomes nor conditions. So the founders are measured first, it starts
    at the best of them, and what it proposes is repaired. Where its covariances degenerate, it
    starts again at the best so far.
    """

    def __init__(self, space: Space, seed: int, founders: Sequence[Chromosome]) -> None:
        self._cmaes = _imported("cmaes")
        self._space, self._seed = space, seed
        self._first = list(distinct(space, iter(map(space.repair, founders))))
        free = [gene for gene in space.genes if len(gene.alleles) > 1]
        self._numbers = [gene for gene in free if gene.ordered and len(gene.alleles) > 2]
        self._words = [gene for gene in free if gene not in self._numbers]
        self._optimizer: Any = None
        self._asked: list[tuple[Any, Chromosome]] = []
        self._best = Scored(space.default(), 0.0)

    def ask(self) -> list[Chromosome]:
        """Return the founders, then a population."""
        if self._optimizer is None:
            return self._first
        solutions = [self._optimizer.ask() for _ in range(self._optimizer.population_size)]
        if not all(
            np.isfinite(solution.z).all() for solution in solutions if solution.z is not None
        ):
            self._optimizer = self._started()
            solutions = [self._optimizer.ask() for _ in range(self._optimizer.population_size)]
        self._asked = [(solution, self._chromosome(solution)) for solution in solutions]
        return [chromosome for _, chromosome in self._asked]

    def tell(self, scored: Sequence[Scored]) -> None:
        """Take the fitness of the founders, or of a population."""
        self._best = max([self._best, *scored], key=lambda child: child.fitness)
        if self._optimizer is None:
            self._optimizer = self._started()
            return
        costs = [-np.log(max(child.fitness, LOWEST)) for child in scored]
        solutions = [solution for solution, _ in self._asked]
        try:
            with np.errstate(all="ignore"):
                self._optimizer.tell(list(zip(solutions, costs, strict=True)))
        except (np.linalg.LinAlgError, AssertionError):  # how it says that it has degenerated
            self._optimizer = self._started()

    def _started(self) -> Any:
        shapes: dict[str, Any] = {}
        at, self._seed = self._best.chromosome, self._seed + 1
        if self._numbers:
            shapes["z_space"] = [list(range(len(gene.alleles))) for gene in self._numbers]
            shapes["mean"] = np.array([float(_place(gene, at)) for gene in self._numbers])
        if self._words:
            shapes["c_space"] = [len(gene.alleles) for gene in self._words]
        return self._cmaes.CatCMAwM(seed=self._seed, **shapes)

    def _chromosome(self, solution: Any) -> Chromosome:
        alleles: dict[str, Allele] = {}
        for gene, place in zip(
            self._numbers, () if solution.z is None else solution.z, strict=True
        ):
            alleles[gene.name] = gene.alleles[round(float(place))]
        chosen = () if solution.c is None else solution.c.argmax(axis=1)
        for gene, place in zip(self._words, chosen, strict=True):
            alleles[gene.name] = gene.alleles[int(place)]
        return self._space.repair(alleles)


def _place(gene: Gene, chromosome: Chromosome) -> int:
    """Return the place of a gene's allele; of its default where it does not apply."""
    allele = chromosome[gene.name]
    return list(gene.alleles).index(allele if allele in gene.alleles else gene.default)


class Smac:
    """SMAC3, one chromosome at a time; the founders are its initial design."""

    def __init__(self, space: Space, seed: int, founders: Sequence[Chromosome]) -> None:
        smac, self._config = _imported("smac"), _imported("ConfigSpace")
        self._space = space
        self._genes = [gene for gene in space.genes if len(gene.alleles) > 1]
        self._known: dict[tuple[Allele, ...], float] = {}
        self._founders = list(distinct(space, iter(map(space.repair, founders))))
        configurations = self._configurations(seed)
        first = [self._configuration(configurations, founder) for founder in self._founders]
        scenario = smac.Scenario(
            configurations, n_trials=10_000, seed=seed, output_directory=Path(mkdtemp())
        )
        facade = smac.HyperparameterOptimizationFacade
        self._smac = facade(
            scenario,
            _never,
            initial_design=facade.get_initial_design(
                scenario, n_configs=0, additional_configs=first
            ),
            intensifier=facade.get_intensifier(scenario, max_config_calls=1),
            overwrite=True,
            logging_level=False,
        )
        self._runhistory = _imported("smac.runhistory")
        self._trial: Any = None

    def ask(self) -> list[Chromosome]:
        """Return one chromosome that was not asked before; none if it proposes no other."""
        for _ in range(IN_A_ROW):
            self._trial = self._smac.ask()
            child = self._chromosome(dict(self._trial.config))
            fitness = self._known.get(self._space.key(child))
            if fitness is None:
                return [child]
            self._tell_smac(fitness)
        return []

    def tell(self, scored: Sequence[Scored]) -> None:
        """Take the fitness of the chromosome."""
        for child in scored:
            self._known[self._space.key(child.chromosome)] = child.fitness
            self._tell_smac(child.fitness)

    def _tell_smac(self, fitness: float) -> None:
        cost = float(-np.log(max(fitness, LOWEST)))
        self._smac.tell(self._trial, self._runhistory.TrialValue(cost=cost))

    def _configurations(self, seed: int) -> Any:
        space = self._config.ConfigurationSpace(seed=seed)
        for gene in self._genes:
            places = len(gene.alleles)
            kinds = (self._config.Integer, self._config.Categorical)
            space.add(
                kinds[0](gene.name, (0, places - 1))
                if gene.ordered
                else kinds[1](gene.name, [str(place) for place in range(places)])
            )
        return space

    def _configuration(self, configurations: Any, chromosome: Chromosome) -> Any:
        values = {
            gene.name: _place(gene, chromosome) if gene.ordered else str(_place(gene, chromosome))
            for gene in self._genes
        }
        return self._config.Configuration(configurations, values=values)

    def _chromosome(self, values: dict[str, Any]) -> Chromosome:
        alleles = {gene.name: gene.alleles[int(values[gene.name])] for gene in self._genes}
        return self._space.repair(alleles)


def _never(config: Any, seed: int = 0) -> float:
    """Stand for the target function, which SMAC wants and does not call when it is asked."""
    raise AssertionError("the campaign makes the runs")


def _imported(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        remedy = "install it: pip install 'foreread[peers]'; or leave it out with --only"
        raise RecipeError(f"{module} is not installed", remedy) from error
