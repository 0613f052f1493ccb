"""Searches of a measured landscape of file systems: the 2015 paper's algorithm, TPE and chance.

What counts is the file systems that had to be made and measured: each once, as there. A combination
of alleles that is not a file system is worth nothing and costs nothing, for every search alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import Any

from foreread.analyzer.tuner.engine import Engine, Scored
from foreread.analyzer.tuner.engines.make import make_engine
from foreread.analyzer.tuner.space.genes import Allele, Chromosome
from foreread.boards.base.document import SCHEMA
from studies.tuning.landscape import Landscape
from studies.tuning.storage_runs import (
    by_file_system,
    defaults_of,
    effects,
    engine_of,
    figures,
    points_of,
    text_of,
    value,
)
from studies.tuning.study_recipes import load_recipe

# The paper's recipe; the same with other first populations; and what it is compared with.
PAPER, UNSEEDED, ALL_VALID = "paper", "paper, unseeded", "paper, all valid at first"
TPE, RANDOM = "tpe", "random"
SEARCHES = (PAPER, UNSEEDED, ALL_VALID, TPE, RANDOM)
SHARES = (0.1, 0.2, 0.3, 0.5)  # of the file systems
CLOSE = 0.01  # of the best; runs of the same file system differ by about as much
# It takes seconds, where the others take a tenth of one; as many as the paper's proposes.
TPE_SEEDS, TPE_PROPOSALS = 20, 300


@dataclass(frozen=True)
class Course:
    """A search's course: ``regrets`` of its best after each file system that it measured.

    ``generations``: the generation in which each was measured, from 1. ``proposed`` counts
    different combinations, file systems or not.
    """

    seed: int
    best: Chromosome
    proposed: int
    regrets: Sequence[float]
    generations: Sequence[int]

    @property
    def measured(self) -> int:
        """Number of file systems that it measured."""
        return len(self.regrets)

    @property
    def until_best(self) -> int:
        """How many it had measured when it had its best."""
        return self.regrets.index(self.regrets[-1]) + 1

    def regret(self, measured: int) -> float:
        """Return its regret after so many, or at its end."""
        return self.regrets[min(measured, self.measured) - 1]


def search(landscape: Landscape, name: str, seed: int, generations: int | None = None) -> Course:
    """Run one of SEARCHES to its end: the paper's 200 generations, or those given."""
    (workload,) = landscape.table.scenarios
    engine = _engine(landscape, name, seed, generations)
    key = landscape.space.key
    worth, measured, regrets = dict[tuple[Allele, ...], float](), list[int](), list[float]()
    best: Chromosome = landscape.space.default()
    generation = 0
    while (batch := engine.ask()) and (name != TPE or len(worth) < TPE_PROPOSALS):
        generation += 1
        for chromosome in batch:
            if key(chromosome) in worth:
                continue
            worth[key(chromosome)] = landscape.evaluate(chromosome, workload).value or 0.0
            if worth[key(chromosome)]:
                regret = landscape.regret(chromosome)
                best = chromosome if not regrets or regret < regrets[-1] else best
                regrets.append(min([regret, *regrets[-1:]]))
                measured.append(generation)
        engine.tell([Scored(chromosome, worth[key(chromosome)]) for chromosome in batch])
    return Course(seed, best, len(worth), regrets, measured)


def _engine(landscape: Landscape, name: str, seed: int, generations: int | None) -> Engine:
    seeds = [] if name == UNSEEDED else defaults_of(landscape)
    if name == ALL_VALID:
        everything = points_of(landscape)
        seeds = [*seeds, *Random(seed).choices(everything, k=80 - len(seeds))]
    if name in (PAPER, UNSEEDED, ALL_VALID):
        return engine_of(landscape.space, seeds, seed, generations)
    return make_engine(load_recipe(name), landscape.space, seed, seeds)


def figures_of(
    landscape: Landscape, seeds: Sequence[int], generations: int | None = None
) -> list[dict[str, Any]]:
    """Return the results of each of SEARCHES, over the seeds; of TPE over the first of them."""
    return [
        _figures(
            name,
            landscape,
            [
                search(landscape, name, seed, generations)
                for seed in seeds[: TPE_SEEDS if name == TPE else None]
            ],
        )
        for name in SEARCHES
    ]


def _figures(name: str, landscape: Landscape, courses: Sequence[Course]) -> dict[str, Any]:
    after = {str(share): round(share * landscape.points) for share in SHARES}
    return {
        "name": name,
        "seeds": len(courses),
        "found": sum(course.regrets[-1] == 0 for course in courses),
        "close": sum(course.regrets[-1] <= CLOSE for course in courses),
        "measured": [course.measured for course in courses],
        "proposed": [course.proposed for course in courses],
        "until_best": [course.until_best for course in courses],
        "generations_until_best": [course.generations[course.until_best - 1] for course in courses],
        "ended_at": [course.regrets[-1] for course in courses],
        "after": {
            share: {
                "measured": count,
                "found": sum(course.regret(count) == 0 for course in courses),
                "close": sum(course.regret(count) <= CLOSE for course in courses),
                "median_regret": median(course.regret(count) for course in courses),
            }
            for share, count in after.items()
        },
    }


def table(searches: Sequence[Mapping[str, Any]]) -> str:
    """Return the searches as a table in Markdown."""
    counts = [after["measured"] for after in searches[0]["after"].values()]
    titles = " | ".join(f"after {count}" for count in counts)
    lines = [
        f"| search | {titles} | at its end | file systems measured | until its best |",
        "|---" * (len(counts) + 4) + "|",
    ]
    for search in searches:
        cells = [
            f"{100 * after['median_regret']:.1f} %, {after['found']}"
            for after in search["after"].values()
        ]
        end = f"{100 * median(search['ended_at']):.1f} %, {search['found']} of {search['seeds']}"
        counted = (f"{median(search[name]):.0f}" for name in ("measured", "until_best"))
        lines.append(f"| {search['name']} | {' | '.join([*cells, end, *counted])} |")
    return "\n".join(lines)


def table_of_runs(landscape: Landscape, runs: Sequence[Course]) -> str:
    """Return single runs as a table in Markdown, as the paper's table 2, and how many succeeded."""
    lines = [
        "| run | operations/s | from the best | which | file systems measured | until it |",
        "|---" * 6 + "|",
    ]
    for run in runs:
        worth = f"{value(landscape, run.best):,.0f} | {100 * run.regrets[-1]:.1f} %"
        counted = f"{run.measured} | {run.until_best}"
        lines.append(f"| {run.seed} | {worth} | {text_of(run.best)} | {counted} |")
    optimal = sum(run.regrets[-1] == 0 for run in runs)
    close = sum(run.regrets[-1] <= CLOSE for run in runs)
    text = f"global best found in {optimal} of {len(runs)} runs"
    return "\n".join([*lines, "", f"{text}, within {100 * CLOSE:.0f} % of it in {close}"])


def document_of(landscape: Landscape, runs: Sequence[Course]) -> dict[str, Any]:
    """Return a landscape's ends, and the results of single runs on it, as JSON."""
    table = landscape.table
    return {
        "schema": SCHEMA,
        "workload": table.scenarios[0],
        "board": table.board,
        "kernel": table.kernel,
        "points": landscape.points,
        "combinations": landscape.space.size,
        "default": figures(landscape, landscape.space.default()),
        "best": figures(landscape, landscape.optimum),
        "file_systems": by_file_system(landscape),
        "effects": effects(landscape),
        "runs": [
            {"seed": run.seed, "measured": run.measured, "until_best": run.until_best}
            | figures(landscape, run.best)
            for run in runs
        ],
    }
