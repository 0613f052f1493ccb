"""Scenarios that take turns in ``foreread tune``: what genes save that come back with theirs.

On the measured starts (start-up.jsonl), for many seeds: evaluations of a turn until the better half
of a generation takes, on average, no more than 5 % longer than the best there is (*converged*), and
until one child does so (*found*), with fingerprints and without. The fingerprints are given here,
so that they tell the scenarios apart.

    python -m studies.tuning.turns -o FILE
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

from foreread.analyzer.tuner.engine import Scored
from foreread.analyzer.tuner.engines.fingerprint import Snapshot
from foreread.analyzer.tuner.engines.make import make_engine
from foreread.analyzer.tuner.engines.recipe import Genetic
from foreread.analyzer.tuner.evaluation import key_of
from foreread.boards.base.document import SCHEMA
from studies.tuning.landscape import Landscape
from studies.tuning.starts import landscape_of, lines_of
from studies.tuning.study_recipes import load_recipe

# Of the measured scenarios, those that want opposite windows, and whose runs are more than chance.
TOLD = {
    "idle": Snapshot(reads=100, followers=99, jumps=99),
    "reader": Snapshot(reads=100, followers=99),
}
SCENARIOS = tuple(TOLD)
PASSES = 4
SEEDS = 100
CLOSE = 0.95  # of the best there is
RECIPES = ("without", "with")
GOALS = ("converged", "found")


def recipe_of(name: str) -> Genetic:
    """Return the recipe with or without fingerprints, its children ranked by what a start takes.

    By the disk's counters, as published, they hardly converge at all (fingerprints.py).
    """
    recipe = load_recipe("fingerprinting")
    assert isinstance(recipe, Genetic)
    recipe = msgspec.structs.replace(recipe, phenotypes=[])
    return recipe if name == "with" else msgspec.structs.replace(recipe, fingerprints=None)


def evaluations_until(generations: Sequence[Sequence[float]]) -> dict[str, int]:
    """Return the evaluations of a turn until each goal was reached: all of them if never.

    ``generations`` have each child's worth, in parts of the best there is.
    """
    counts = dict.fromkeys(GOALS, 0)
    for goal in counts:
        for worths in generations:
            best = sorted(worths, reverse=True)
            half = best[: (len(best) + 1) // 2] if goal == "converged" else best[:1]
            if fmean(half) >= CLOSE:
                break
            counts[goal] += len(worths)
    return counts


def on_the_table(landscape: Landscape, recipe: Genetic, seed: int) -> dict[str, list[Any]]:
    """Return what each turn took, by scenario, when every child is worth its median."""
    engine = make_engine(recipe, landscape.space, seed)
    seconds = {key_of(c): landscape.medians(c) for c in landscape.space.enumerate()}
    default = seconds[key_of(landscape.space.default())]
    turns: dict[str, list[Any]] = {name: [] for name in SCENARIOS}
    for scenario in [*SCENARIOS] * PASSES:
        best = min(medians[scenario] for medians in seconds.values())
        generations = []
        for _ in range(recipe.turns):
            chromosomes = engine.ask()
            took = [seconds[key_of(chromosome)][scenario] for chromosome in chromosomes]
            generations.append([best / each for each in took])
            engine.tell(
                [
                    Scored(chromosome, default[scenario] / own, TOLD[scenario].metrics())
                    for chromosome, own in zip(chromosomes, took, strict=True)
                ]
            )
        turns[scenario].append(evaluations_until(generations))
    return turns


def counted() -> dict[str, Any]:
    """Return means over the seeds, by scenario, recipe and goal, for each pass."""
    landscape = landscape_of(lines_of("start-up"), SCENARIOS)
    runs = {
        name: [on_the_table(landscape, recipe_of(name), seed) for seed in range(SEEDS)]
        for name in RECIPES
    }
    return {
        "seeds": SEEDS,
        "scenarios": {
            scenario: {
                goal: {
                    name: [
                        fmean(run[scenario][n][goal] for run in runs[name]) for n in range(PASSES)
                    ]
                    for name in RECIPES
                }
                for goal in GOALS
            }
            for scenario in SCENARIOS
        },
    }


def as_markdown(document: Mapping[str, Any]) -> str:
    """Return the counts as a table: later passes, in which the workload was known."""
    lines = ["| scenario | until converged | change | until found | change |", "|---" * 5 + "|"]
    for scenario, goals in document["scenarios"].items():
        cells = [scenario]
        for goal in GOALS:
            without, with_ = (fmean(goals[goal][name][1:]) for name in RECIPES)
            change = f"{100 * (with_ / without - 1):+.0f} %" if without else "–"
            cells += [f"{without:.1f} → {with_:.1f}", change]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Count, print a table, and write all figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    args = parser.parse_args()
    document = counted()
    print(as_markdown(document))
    args.output.write_text(json.dumps({"schema": SCHEMA, **document}, indent=1) + "\n")


if __name__ == "__main__":
    main()
