"""Competition of samplers on the whole catalogue of genes: whole_catalogue.py.

    python -m studies.tuning.compete_catalogue [--landscapes N] [--seeds N] [--runs N]
        [--only NAME,…] [--resume] [-o FILE]

Each sampler runs in a campaign, once with the race and once with the rule of ``start-up``, nothing
is predicted, and regret is that of the campaign's believed best. Nobody can measure such a space
completely, so figures are after so many runs. Prints a row of all landscapes for each sampler; FILE
is written after each, --resume keeps the rows that it has.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from boards.document import SCHEMA
from studies.tuning.compete import confirmation, described
from studies.tuning.competition import Cost, compete
from studies.tuning.contestants import EVERY, Contestant
from studies.tuning.provenance import made
from studies.tuning.whole_catalogue import WholeCatalogue

WITHOUT = ("exhaustive", "gaussian-process")  # without end; 0.5 s a chromosome
CONTESTANTS = tuple(one for one in EVERY if not one.predicted and one.recipe not in WITHOUT)


def looks(runs: int) -> list[int]:
    """Return after how many runs it is looked where they are: a quarter, half, all of them."""
    return [runs // 4, runs // 2, runs]


def row(
    one: Contestant, landscapes: Sequence[WholeCatalogue], seeds: int, runs: int
) -> dict[str, Any]:
    """Return the figures of one sampler on all landscapes."""
    regrets: dict[int, list[float]] = {at: [] for at in looks(runs)}
    costs: list[Cost] = []
    for landscape in landscapes:
        engines = {one.name: one.engines(landscape.space, None)}
        (curve,) = compete(landscape, engines, range(seeds), runs, confirm=True)
        for at, found in regrets.items():
            found.extend(round(float(regret), 6) for regret in curve.regrets[:, at - 1])
        costs += curve.confirmations
    return {
        **described(one),
        "regrets": {str(at): found for at, found in regrets.items()},
        "confirmation": confirmation(costs),
    }


def line_of(found: dict[str, Any]) -> str:
    """Return a row as text."""
    cells = [f"{at}: {100 * median(some):.1f} %" for at, some in found["regrets"].items()]
    return f"{found['name']} ({found['judged_by']}): {', '.join(cells)}"


def main() -> int:
    """Let them compete; print a line for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--landscapes", type=int, default=6, metavar="N", help="how many (6)")
    parser.add_argument("--seeds", type=int, default=2, metavar="N", help="of each (2)")
    parser.add_argument("--runs", type=int, default=100, metavar="N", help="of a search (100)")
    parser.add_argument("--only", default="", metavar="RECIPE,…", help="these rows (default: all)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="JSON of all figures")
    parser.add_argument("--resume", action="store_true", help="keep the rows that FILE has")
    args = parser.parse_args()
    landscapes = [WholeCatalogue(number) for number in range(args.landscapes)]
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "made": [],
        "genes": len(landscapes[0].space.genes),
        "landscapes": args.landscapes,
        "seeds": args.seeds,
        "runs": args.runs,
        "default_regret": fmean(one.regret(one.space.default()) for one in landscapes),
        "samplers": [],
    }
    if args.resume and args.output and args.output.exists():
        document = json.loads(args.output.read_text())
    document["made"].append(made())
    names = args.only.split(",") if args.only else [one.recipe for one in CONTESTANTS]
    for one in CONTESTANTS:
        known = [{**found, **described(one)} == found for found in document["samplers"]]
        if one.recipe in names and not any(known):
            document["samplers"].append(row(one, landscapes, args.seeds, args.runs))
            print(line_of(document["samplers"][-1]), flush=True)
            if args.output:
                args.output.write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
