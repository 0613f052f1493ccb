"""Re-convergence with and without fingerprints, as in section 6 of the 2006 paper.

On what fingerprint_table.py has measured, the genetic-library tunes with fingerprints and without,
while the workload changes to its opposite again and again. Counted are the evaluations after a
change until it has converged, when the better half of a generation reaches, on average, 95 % of the
best chromosome's throughput; and until one child does so, which is what genes that come back can
save. Prints tables; FILE has all figures. With --live, instead, the beginning of one such run is
made on the board, to see that the table holds.

    python -m studies.tuning.fingerprints [--live GENERATIONS] -o FILE
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

import msgspec

from foreread.analyzer.tuner.engines.make import make_engine
from foreread.analyzer.tuner.engines.recipe import Genetic
from foreread.analyzer.tuner.space.genes import Chromosome
from foreread.boards.base.document import SCHEMA
from studies.tuning.fingerprint_table import Table, read_raw
from studies.tuning.fingerprint_trials import SPACE, WORKLOADS, Measured, Trials
from studies.tuning.study_recipes import load_recipe

PAPER = {
    "sequential read": 0.89,
    "sequential write": 0.97,
    "random read": 0.61,
    "random write": 0.19,
}
PASSES = 2  # with fingerprints, the second one knows the genes
GENERATIONS = 20  # of a phase
SEEDS = 50
CLOSE = 0.95  # of the best there is
GOALS = ("converged", "found")
WITHOUT, WITH = "genetic-library", "fingerprinting"
# By what children are ranked: the disk's counters, as published, or what the workload got done.
RANKED = ("counters", "rate")
_TOLD = {"reads": 0, "writes": 0, "sectors": 51200, "followers": 99, "distances": 0, "jumps": 0}
_FAR = 1_000_000  # sectors from start to start, where a workload is random

Run = Callable[[str, Sequence[Chromosome]], list[Measured]]
Taken = dict[str, list[dict[str, int]]]  # by workload, for each pass, by goal


def recipe_ranked(name: str, ranked: str, published: bool = False) -> Genetic:
    """Return a recipe, whose phenotypes are left out where children are ranked by the rate.

    ``published``: genes come back as the paper has it.
    """
    recipe = load_recipe(name)
    assert isinstance(recipe, Genetic)
    if published and recipe.fingerprints:
        as_there = msgspec.structs.replace(recipe.fingerprints, published=True)
        recipe = msgspec.structs.replace(recipe, fingerprints=as_there)
    return recipe if ranked == "counters" else msgspec.structs.replace(recipe, phenotypes=[])


def distinguished(table: Table) -> Table:
    """Return the table with fingerprints that distinguish the workloads without the bios."""
    return Table(
        [
            replace(cell, bios=_distinct_bios(cell.workload))
            for name in WORKLOADS
            for cell in table.of(name)
        ]
    )


def _distinct_bios(workload: str) -> dict[str, int]:
    verb = "reads" if workload.endswith("read") else "writes"
    jumps = 99 * workload.startswith("random")
    return {**_TOLD, verb: 100, "jumps": jumps, "distances": _FAR * jumps}


def converge(
    table: Table, recipe: Genetic, seed: int, run: Run, generations: int = GENERATIONS
) -> Taken:
    """Return the evaluations that each phase took to reach each goal.

    A phase that does not reach it counts with all of its evaluations.
    """
    engine = make_engine(recipe, SPACE, seed)
    by_workload: Taken = {name: [] for name in WORKLOADS}
    for name in [*WORKLOADS] * PASSES:
        close_rate = CLOSE * table.best(name).rate
        evaluations, reached = dict.fromkeys(GOALS, 0), dict.fromkeys(GOALS, False)
        for _ in range(generations):
            measured = run(name, engine.ask())
            for goal, rate in _reaches(measured).items():
                reached[goal] = reached[goal] or rate >= close_rate
                evaluations[goal] += 0 if reached[goal] else len(measured)
            engine.tell([cell.scored() for cell in measured])
        by_workload[name].append(evaluations)
    return by_workload


def _reaches(measured: Sequence[Measured]) -> dict[str, float]:
    """Return by goal what a generation does: those whose genes are passed on, and its best."""
    rates = sorted((cell.rate for cell in measured), reverse=True)
    return {"converged": fmean(rates[: (len(rates) + 1) // 2]), "found": rates[0]}


def summary(
    table: Table, ranked: str, seeds: int = SEEDS, published: bool = False
) -> dict[str, Any]:
    """Return evaluations by workload and goal, means over the seeds, and the reduction.

    As in the paper: the second pass with fingerprints, whose genes are known by then, against the
    same pass of a run without. ``never``: the part of these phases that did not reach the goal.
    """
    runs = {
        name: [
            converge(table, recipe_ranked(name, ranked, published), seed, table.run)
            for seed in range(seeds)
        ]
        for name in (WITHOUT, WITH)
    }
    return {name: {goal: _row(name, goal, runs) for goal in GOALS} for name in WORKLOADS}


def _row(workload: str, goal: str, runs: Mapping[str, Sequence[Taken]]) -> dict[str, Any]:
    without, first, second = (
        [counts[workload][number][goal] for counts in runs[recipe]]
        for recipe, number in ((WITHOUT, 1), (WITH, 0), (WITH, 1))
    )
    phase = GENERATIONS * recipe_ranked(WITHOUT, "rate").population
    return {
        "without": fmean(without),
        "first_pass": fmean(first),
        "second_pass": fmean(second),
        "reduction": 1 - fmean(second) / fmean(without) if any(without) else None,
        "never": {
            "without": fmean(count == phase for count in without),
            "second_pass": fmean(count == phase for count in second),
        },
    }


def confirmed(table: Table, run: Run, generations: int, seed: int = 0) -> dict[str, Any]:
    """Make the beginning of each phase live, and hold every run against the table's."""
    ratios: list[float] = []

    def live(name: str, chromosomes: Sequence[Chromosome]) -> list[Measured]:
        measured = run(name, chromosomes)
        on_table = table.run(name, chromosomes)
        ratios.extend(
            cell.rate / other.rate for cell, other in zip(measured, on_table, strict=True)
        )
        return measured

    recipe = recipe_ranked(WITH, "counters")
    return {
        "generations": generations,
        "seed": seed,
        "live": converge(table, recipe, seed, live, generations),
        "on_the_table": converge(table, recipe, seed, table.run, generations),
        "runs": len(ratios),
        "rate_of_the_tables": {"median": median(ratios), "least": min(ratios), "most": max(ratios)},
    }


def as_markdown(figures: Mapping[str, Mapping[str, Any]], ranked: str) -> str:
    """Return a summary as a table: evaluations without, and with in either pass."""
    lines = [
        f"| ranked by {ranked} | until converged | change | until found | change | paper |",
        "|---" * 6 + "|",
    ]
    for name, goals in figures.items():
        cells = [cell for goal in GOALS for cell in _cells(goals[goal])]
        lines.append(f"| {name} | {' | '.join(cells)} | {-100 * PAPER[name]:+.0f} % |")
    return "\n".join(lines)


def _cells(row: Mapping[str, Any]) -> tuple[str, str]:
    numbers = ", ".join(f"{row[key]:.1f}" for key in ("without", "first_pass", "second_pass"))
    change = row["reduction"]
    return numbers, "–" if change is None else f"{-100 * change:+.0f} %"


def counted(table: Table) -> dict[str, Any]:
    """Return what the study counts, printing its tables."""
    variants = {ranked: summary(table, ranked) for ranked in RANKED}
    variants["rate, distinct workloads"] = summary(distinguished(table), "rate")
    variants["rate, distinct workloads, as published"] = summary(
        distinguished(table), "rate", published=True
    )
    for ranked, figures in variants.items():
        print(f"{as_markdown(figures, ranked)}\n", flush=True)
    return {
        "schema": SCHEMA,
        "seeds": SEEDS,
        "generations": GENERATIONS,
        "close": CLOSE,
        "paper_reduction": PAPER,
        "landscape": {name: table.described(name) for name in WORKLOADS},
        "ranked_by": variants,
    }


def live(table: Table, generations: int) -> dict[str, Any]:
    """Return what the beginning of each phase does on the board."""
    with Trials() as trials:
        figures = confirmed(
            table,
            lambda name, chromosomes: [trials.run(name, chromosome) for chromosome in chromosomes],
            generations,
        )
    print(json.dumps(figures), flush=True)
    return {"schema": SCHEMA, **figures}


def main() -> None:
    """Count, or confirm, and write the result."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--live", type=int, metavar="GENERATIONS", help="so many of each phase")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    args = parser.parse_args()
    table = Table(read_raw())
    document = live(table, args.live) if args.live else counted(table)
    args.output.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
