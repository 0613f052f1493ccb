"""Engines against each other on a measured landscape, at equal numbers of attempts.

Each engine runs in a campaign as it would on a machine: the same repeats, the same runs of the
default, all of them counted. After each attempt the campaign is asked which chromosome it believes
to be the best; its regret is that of the chromosome's true value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analyzer.tuner.campaign.campaign import Campaign, Rules
from analyzer.tuner.engine import Engine
from analyzer.tuner.engines.stopping import Budget
from analyzer.tuner.evaluation import Attempt, chromosome_of
from analyzer.tuner.space.genes import Chromosome
from analyzer.tuner.store.records import Board, Spec
from analyzer.tuner.store.store import Store
from studies.tuning.landscape import Landscape

MakeEngine = Callable[[int], Engine]  # of a seed


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
    landscape: Landscape,
    engines: Mapping[str, MakeEngine],
    seeds: Sequence[int],
    attempts: int,
    fewest: int = 1,
    most: int = 5,
) -> list[Curve]:
    """Return each engine's regret after 1, 2, … ``attempts`` attempts, for each of ``seeds``.

    An engine that ends earlier keeps its last regret. ``fewest`` and ``most`` as in Spec.
    """
    table = landscape.table
    curves = []
    for name, make_engine in engines.items():
        rows = []
        for seed in seeds:
            spec = Spec(
                board=Board(table.board or "landscape", table.kernel),
                scenarios=tuple(table.scenarios),
                default=landscape.space.default(),
                sampler=name,
                seed=seed,
                objective=table.objective,
                fewest=fewest,
                most=most,
            )
            rows.append(_regrets(landscape, spec, make_engine(seed), attempts))
        curves.append(Curve(name, np.array(rows)))
    return curves


class _Watched:
    """A landscape that notes what the campaign on it believes best before each attempt."""

    def __init__(self, landscape: Landscape) -> None:
        self.landscape = landscape
        self.believed: list[str] = []
        self.campaign: Campaign | None = None

    def reseed(self, seed: int) -> None:
        self.landscape.reseed(seed)

    def evaluate(self, chromosome: Chromosome, scenario: str) -> Attempt:
        if self.campaign:
            self.believed.append(self.campaign.best)
        return self.landscape.evaluate(chromosome, scenario)


def _regrets(landscape: Landscape, spec: Spec, engine: Engine, attempts: int) -> list[float]:
    rules = Rules(budget=Budget(evaluations=attempts), patience=None)
    watched = _Watched(landscape)
    with Store.in_memory(spec) as store:
        watched.campaign = Campaign(store, engine, watched, rules)
        watched.campaign.run()
    believed = [*watched.believed[1:], watched.campaign.best]
    regret_of = {best: landscape.regret(chromosome_of(best)) for best in set(believed)}
    regrets = [regret_of[best] for best in believed]
    return regrets + regrets[-1:] * (attempts - len(regrets))
