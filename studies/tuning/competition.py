"""Engines against each other on a landscape with a known truth, at equal numbers of attempts.

Each engine runs in a campaign as it would on a machine: its repeats and its runs of the default are
all counted. After each attempt the campaign says which chromosome it believes to be the best; its
regret is computed from the chromosome's true value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from foreread.analyzer.tuner.campaign.campaign import Campaign, Rules
from foreread.analyzer.tuner.campaign.campaign_setup import CampaignSetup
from foreread.analyzer.tuner.engine import Engine
from foreread.analyzer.tuner.engines.recipe import load_recipe
from foreread.analyzer.tuner.engines.stopping import Budget
from foreread.analyzer.tuner.evaluation import Attempt, Evaluator, chromosome_of
from foreread.analyzer.tuner.space.genes import Chromosome, Space
from foreread.analyzer.tuner.store.records import Board, Objective, Spec
from foreread.analyzer.tuner.store.store import Store

MakeEngine = Callable[[int], Engine]  # of a seed


class Ground(Evaluator, Protocol):
    """An evaluator with a known truth: a landscape."""

    @property
    def space(self) -> Space:
        """The genes."""
        ...

    @property
    def scenarios(self) -> Sequence[str]:
        """The scenarios that count together."""
        ...

    @property
    def objective(self) -> Objective:
        """What its values are."""
        ...

    def reseed(self, seed: int) -> None:
        """Take the seed of the next draw."""
        ...

    def regret(self, chromosome: Chromosome) -> float:
        """Return how much worse a chromosome is than the optimum, in parts of its value."""
        ...


@dataclass(frozen=True, eq=False)
class Curve:
    """One engine's regrets: seeds × attempts, in parts of the optimum's value."""

    name: str
    regrets: npt.NDArray[np.float64]

    def reached(self, regret: float, attempts: int) -> int:
        """Return how many seeds were within ``regret`` after so many attempts."""
        return int(np.count_nonzero(self.regrets[:, attempts - 1] <= regret))

    def median(self, attempts: int) -> float:
        """Return the median regret over the seeds after so many attempts."""
        return float(np.median(self.regrets[:, attempts - 1]))


def compete(
    landscape: Ground,
    engines: Mapping[str, MakeEngine],
    seeds: Sequence[int],
    attempts: int,
) -> list[Curve]:
    """Return each engine's regret after 1, 2, … ``attempts`` attempts, for each of ``seeds``.

    An engine that ends earlier keeps its last regret.
    """
    return [
        Curve(
            name, np.array([_search(landscape, name, make(seed), seed, attempts) for seed in seeds])
        )
        for name, make in engines.items()
    ]


class _Watched:
    """A landscape that notes what the campaign on it believes best before each attempt."""

    def __init__(self, landscape: Ground) -> None:
        self.landscape = landscape
        self.believed: list[str] = []
        self.campaign: Campaign | None = None

    def reseed(self, seed: int) -> None:
        self.landscape.reseed(seed)

    def evaluate(self, chromosome: Chromosome, scenario: str) -> Attempt:
        if self.campaign:
            self.believed.append(self.campaign.best)
        return self.landscape.evaluate(chromosome, scenario)


def spec_on(landscape: Ground, sampler: str, seed: int) -> Spec:
    """Return the spec of a campaign on a landscape, with an engine that comes from outside."""
    setup = CampaignSetup(load_recipe("random"), landscape.space)
    return Spec(
        board=Board("landscape"),
        scenarios=tuple(landscape.scenarios),
        default=landscape.space.default(),
        sampler=sampler,
        recipe=setup.recipe_text,
        space=setup.space_text,
        seed=seed,
        objective=landscape.objective,
    )


def _search(landscape: Ground, name: str, engine: Engine, seed: int, attempts: int) -> list[float]:
    rules = Rules(budget=Budget(evaluations=attempts), patience=None)
    watched = _Watched(landscape)
    with Store.in_memory(spec_on(landscape, name, seed)) as store:
        watched.campaign = Campaign(store, engine, watched, rules)
        watched.campaign.run()
    believed = [*watched.believed[1:], watched.campaign.best]
    regret_of = {best: landscape.regret(chromosome_of(best)) for best in set(believed)}
    regrets = [regret_of[best] for best in believed]
    return regrets + regrets[-1:] * (attempts - len(regrets))
