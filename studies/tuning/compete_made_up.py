"""Competition of samplers on any number of made-up landscapes: made_up.py.

    python -m studies.tuning.compete_made_up [--first N] [--landscapes N] [--seeds N] [-o FILE]

As in compete.py each sampler runs in a campaign as it would on a board, all runs are counted, and
regret is that of the campaign's believed best. The recipe start-up is given the prediction that
the landscape has, if any, be it right or misleading. For each group of landscapes the table has the
share of searches that are within 2 % of the optimum after 10 % of the runs, and the mean regret.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any

from analyzer.tuner.engine import Engine
from analyzer.tuner.engines.make import make_engine
from boards.document import SCHEMA
from studies.tuning.competition import compete
from studies.tuning.made_up import KINDS, NOISES, PREDICTIONS, MadeUp, made_up
from studies.tuning.study_recipes import load_recipe

RECIPES = ("start-up", "genetic-library", "tpe", "random")
SHARES = (0.05, 0.1)  # of the runs that measuring everything took
CLOSE = 0.02  # of the optimum's time
MOST = 9 / 10  # of the seeds
EQUAL = 0.001  # of the optimum's time: what is taken for no worse


@dataclass(frozen=True)
class Outcome:
    """What became of all samplers on one landscape: regrets by name and share, one for a seed."""

    landscape: dict[str, Any]
    regrets: dict[str, dict[str, list[float]]]

    def of(self, name: str) -> list[float]:
        """Return a sampler's regrets after the largest share."""
        return self.regrets[name][str(SHARES[-1])]

    def close(self, name: str) -> float:
        """Return the share of seeds that came close."""
        return fmean(regret <= CLOSE for regret in self.of(name))


def engine(name: str, made: MadeUp, seed: int) -> Engine:
    """Return a new engine of a recipe."""
    return make_engine(load_recipe(name), made.landscape.space, seed, predicted=made.predicted)


def outcome(made: MadeUp, names: Sequence[str], seeds: Sequence[int]) -> Outcome:
    """Let them compete on one landscape."""
    at = {share: round(share * made.runs_exhaustive) for share in SHARES}
    engines = {name: partial(engine, name, made) for name in names}
    curves = compete(made.landscape, engines, seeds, max(at.values()))
    regrets = {
        curve.name: {
            str(share): [round(float(one), 6) for one in curve.regrets[:, runs - 1]]
            for share, runs in at.items()
        }
        for curve in curves
    }
    described = {
        "number": made.number,
        "kind": made.kind,
        "noise": made.noise,
        "heavy": made.heavy,
        "prediction": made.prediction,
        "points": made.landscape.points,
        "runs_exhaustive": made.runs_exhaustive,
    }
    return Outcome(described, regrets)


def table(outcomes: Sequence[Outcome], names: Sequence[str]) -> str:
    """Return shares and mean regrets by group of landscapes as a table in Markdown."""
    groups = {"all": list(outcomes)}
    for key, values, title in (
        ("kind", KINDS, "{}"),
        ("noise", NOISES, "noise of {:.1%}"),
        ("prediction", PREDICTIONS, "prediction: {}"),
    ):
        for value in values:
            groups[title.format(value)] = [one for one in outcomes if one.landscape[key] == value]
    groups["heavy tails"] = [one for one in outcomes if one.landscape["heavy"]]
    lines = [f"| landscapes | | {' | '.join(names)} |", "|---" * (len(names) + 2) + "|"]
    for title, some in groups.items():
        if some:
            lines.append(f"| {title} | {len(some)} | {' | '.join(_cell(some, n) for n in names)} |")
    return "\n".join(lines)


def _cell(some: Sequence[Outcome], name: str) -> str:
    close = fmean(one.close(name) for one in some)
    # Where a search ended on a cliff, how high that is does not matter.
    regret = fmean(min(regret, 1.0) for one in some for regret in one.of(name))
    return f"{100 * close:.0f} %, {100 * regret:.1f} %"


def aims(outcomes: Sequence[Outcome], names: Sequence[str]) -> dict[str, Any]:
    """Return in how many landscapes nine of ten seeds come close, and the first is no worse."""
    ours, *others = names
    return {
        "landscapes": len(outcomes),
        "close_in_nine_of_ten": {
            name: sum(one.close(name) >= MOST for one in outcomes) for name in names
        },
        "median_no_worse_than": {
            name: sum(median(one.of(ours)) <= median(one.of(name)) + EQUAL for one in outcomes)
            for name in others
        },
    }


def main() -> int:
    """Let them compete on each landscape; print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--first", type=int, default=48, metavar="N", help="number (48)")
    parser.add_argument("--landscapes", type=int, default=48, metavar="N", help="how many (48)")
    parser.add_argument("--seeds", type=int, default=10, metavar="N")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="JSON of all figures")
    args = parser.parse_args()
    found = []
    for number in range(args.first, args.first + args.landscapes):
        found.append(outcome(made_up(number), RECIPES, range(args.seeds)))
        print(f"\r{len(found)}/{args.landscapes}", end="", file=sys.stderr, flush=True)
    print(f"\n{table(found, RECIPES)}\n\n{json.dumps(aims(found, RECIPES))}")
    if args.output:
        document = {
            "schema": SCHEMA,
            **aims(found, RECIPES),
            "found": [one.landscape | one.regrets for one in found],
        }
        args.output.write_text(json.dumps(document) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
