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

from analyzer.tuner.engine import Scored
from analyzer.tuner.engines.fingerprint import Snapshot
from analyzer.tuner.engines.make import make_engine
from analyzer.tuner.engines.recipe import Genetic
from analyzer.tuner.evaluation import key_of
from boards.base.document import SCHEMA
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


def taken(generations: Sequence[Sequence[float]]) -> dict[str, int]:
    """Return the evaluations of a turn until each goal was reached: all of them if never.

    ``generations`` have each child's worth, 1 that of the best there is.
    """
    found = dict.fromkeys(GOALS, 0)
    for goal in found:
        for worths in generations:
            best = sorted(worths, reverse=True)
            half = best[: (len(best) + 1) // 2] if goal == "converged" else best[:1]
            if fmean(half) >= CLOSE:
                break
            found[goal] += len(worths)
    return found


def on_the_table(landscape: Landscape, recipe: Genetic, seed: int) -> dict[str, list[Any]]:
    """Return what each turn took, by scenario, when every child is worth its median."""
    engine = make_engine(recipe, landscape.space, seed)
    seconds = {key_of(c): landscape.medians(c) for c in landscape.space.enumerate()}
    default = seconds[key_of(landscape.space.default())]
    turns: dict[str, list[Any]] = {name: [] for name in SCENARIOS}
    for scenario in [*SCENARIOS] * PASSES:
        best = min(one[scenario] for one in seconds.values())
        generations = []
        for _ in range(recipe.turns):
            asked = engine.ask()
            took = [seconds[key_of(one)][scenario] for one in asked]
            generations.append([best / one for one in took])
            engine.tell(
                [
                    Scored(one, default[scenario] / own, TOLD[scenario].metrics())
                    for one, own in zip(asked, took, strict=True)
                ]
            )
        turns[scenario].append(taken(generations))
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
                        fmean(one[scenario][n][goal] for one in runs[name]) for n in range(PASSES)
                    ]
                    for name in RECIPES
                }
                for goal in GOALS
            }
            for scenario in SCENARIOS
        },
    }


def as_markdown(found: Mapping[str, Any]) -> str:
    """Return the counts as a table: later passes, in which the workload was known."""
    lines = ["| scenario | until converged | change | until found | change |", "|---" * 5 + "|"]
    for scenario, goals in found["scenarios"].items():
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
    found = counted()
    print(as_markdown(found))
    args.output.write_text(json.dumps({"schema": SCHEMA, **found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
