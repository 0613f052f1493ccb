"""The gain of the genetic-library over the default, as in section 4.2 of the 2005 paper.

On what fingerprint_table.py has measured, the recipe tunes while workload follows workload. The
paper's figure is what the whole benchmark got done with the tuner at work against the default: the
average over all children that ran, bad tries included. Beside it stand the last generation of each
workload, and the best child. Prints a table; FILE has all figures.

    python -m studies.tuning.genetic_library -o FILE
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from foreread.analyzer.tuner.engines.make import make_engine
from foreread.boards.base.document import SCHEMA
from studies.tuning.fingerprint_table import Table, read_raw
from studies.tuning.fingerprint_trials import SPACE, WORKLOADS
from studies.tuning.fingerprints import RANKED, WITHOUT, recipe_ranked

GENERATIONS = 20  # of a workload
SEEDS = 50
PAPER = {"average": 0.0872, "best": 0.2322, "worst": -0.0074}
FIGURES = ("tuning", "last_generation", "best_child")

Gains = dict[str, dict[str, float]]


def gains(table: Table, ranked: str, seed: int) -> Gains:
    """Return by workload what was gained over the default: while tuning, at its end, at best."""
    engine = make_engine(recipe_ranked(WITHOUT, ranked), SPACE, seed)
    by_workload = {}
    for name in WORKLOADS:
        default = table.default(name).rate
        generations = []
        for _ in range(GENERATIONS):
            measured = table.run(name, engine.ask())
            generations.append([cell.rate / default - 1 for cell in measured])
            engine.tell([cell.scored() for cell in measured])
        by_workload[name] = {
            "tuning": fmean(map(fmean, generations)),
            "last_generation": fmean(generations[-1]),
            "best_child": max(map(max, generations)),
        }
    return by_workload


def summary(table: Table, ranked: str, seeds: int = SEEDS) -> dict[str, Any]:
    """Return means over the seeds by workload, over all, and of the best and worst workload."""
    runs = [gains(table, ranked, seed) for seed in range(seeds)]
    rows = {
        name: {
            **{figure: fmean(run[name][figure] for run in runs) for figure in FIGURES},
            "possible": table.best(name).rate / table.default(name).rate - 1,
        }
        for name in WORKLOADS
    }
    return {
        "workloads": rows,
        **{
            figure: {
                "average": fmean(row[figure] for row in rows.values()),
                "best": max(row[figure] for row in rows.values()),
                "worst": min(row[figure] for row in rows.values()),
            }
            for figure in (*FIGURES, "possible")
        },
    }


def as_markdown(figures: Mapping[str, Any], ranked: str) -> str:
    """Return a summary as a table."""
    columns = (*FIGURES, "possible")
    lines = [
        f"| ranked by {ranked} | while tuning | last generation | best child | best there is |",
        "|---" * 5 + "|",
    ]
    rows = dict(figures["workloads"])
    for which in ("average", "best", "worst"):
        rows[which] = {column: figures[column][which] for column in columns}
    for name, row in rows.items():
        lines.append(f"| {name} | " + " | ".join(f"{100 * row[c]:+.2f} %" for c in columns) + " |")
    return "\n".join(lines)


def main() -> None:
    """Tune, and write the result."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    args = parser.parse_args()
    table = Table(read_raw())
    ranked_by = {ranked: summary(table, ranked) for ranked in RANKED}
    document = {
        "schema": SCHEMA,
        "seeds": SEEDS,
        "generations": GENERATIONS,
        "paper": PAPER,
        "ranked_by": ranked_by,
    }
    for ranked, figures in ranked_by.items():
        print(f"{as_markdown(figures, ranked)}\n", flush=True)
    args.output.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
