"""Samplers of Optuna as tuners: TPE, multivariate TPE, and its Gaussian process.

Optuna is an extra; its Gaussian process also needs torch and SciPy.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib import import_module
from itertools import islice
from random import Random
from typing import Any, Literal

from foreread.analyzer.tuner.engine import Scored
from foreread.analyzer.tuner.engines.listed import shuffled
from foreread.analyzer.tuner.engines.recipe import RecipeError
from foreread.analyzer.tuner.space.genes import NONE, Allele, Chromosome, Gene, Space

KNOWN_IN_A_ROW = 50  # known chromosomes from Optuna before a random one is used
OptunaKind = Literal["tpe", "multivariate-tpe", "gaussian-process"]


def make_optuna_sampler(
    kind: OptunaKind, space: Space, seed: int, seeds: Sequence[Chromosome] = ()
) -> OptunaSampler:
    """Return the sampler of that kind; raises RecipeError if it needs an uninstalled package.

    Multivariate TPE has a joint estimate of the genes that exist together (``group``). The Gaussian
    process can model only parameters of every trial: it gets a value of every gene, also where the
    gene does not apply.
    """
    optuna = _imported("optuna", kind, "optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if kind == "gaussian-process":
        for needed in ("torch", "scipy"):
            _imported(needed, kind, "gaussian-process")
        sampler = optuna.samplers.GPSampler(seed=seed)
        return OptunaSampler(space, sampler, seed, seeds, every_gene=True)
    joint = {"multivariate": True, "group": True} if kind == "multivariate-tpe" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(seed=seed, **joint)
    return OptunaSampler(space, sampler, seed, seeds)


class OptunaSampler:
    """A sampler of Optuna, one chromosome at a time.

    Genes are suggested in order, only applicable genes (or all, with ``every_gene``), numbers by
    their place among the gene's alleles. Repeated proposals are answered from memory.
    """

    def __init__(
        self,
        space: Space,
        sampler: Any,
        seed: int,
        seeds: Sequence[Chromosome] = (),
        every_gene: bool = False,
    ) -> None:
        optuna = _imported("optuna", "tpe", "optuna")
        self._space, self._every_gene = space, every_gene
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        for chromosome in seeds:
            self._study.enqueue_trial(self._parameters(space.repair(chromosome)))
        self._known: dict[tuple[Allele, ...], float] = {}
        self._chance = shuffled(space, Random(seed))
        self._trial: Any = None

    def ask(self) -> list[Chromosome]:
        """Return one new chromosome; empty when the space is exhausted."""
        for _ in range(KNOWN_IN_A_ROW):
            self._trial = self._study.ask()
            child = self._suggested(self._trial)
            fitness = self._known.get(self._space.key(child))
            if fitness is None:
                return [child]
            self._study.tell(self._trial, fitness)
        self._trial = None
        unknown = (child for child in self._chance if self._space.key(child) not in self._known)
        return list(islice(unknown, 1))

    def tell(self, scored: Sequence[Scored]) -> None:
        """Process the chromosome's fitness."""
        for score in scored:
            self._known[self._space.key(score.chromosome)] = score.fitness
            if self._trial is None:
                self._study.enqueue_trial(self._parameters(score.chromosome))
            else:
                self._study.tell(self._trial, score.fitness)

    def _suggested(self, trial: Any) -> Chromosome:
        child: dict[str, Allele] = {}
        for gene in self._space.genes:
            applies = self._space.options(gene, child) != (NONE,) or NONE in gene.choices
            allele = self._allele(gene, trial) if applies or self._every_gene else NONE
            child[gene.name] = allele if applies else NONE
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


def _imported(module: str, kind: str, extra: str) -> Any:
    try:
        return import_module(module)  # an extra, and a second to import
    except ImportError as error:
        name = "Optuna" if module == "optuna" else module
        remedy = f"install it: pip install 'foreread[{extra}]'; or choose another recipe"
        message = f"the sampler {kind} needs {name}, which is not installed"
        raise RecipeError(message, remedy) from error
