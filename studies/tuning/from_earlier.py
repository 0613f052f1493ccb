"""Searches that begin from an earlier campaign (``tune --from``), on measured starts.

    python -m studies.tuning.from_earlier [--seeds N] [-o FILE]

Each pair is an earlier landscape and a new one, from the raw files of measure.py. *Like*: the same
board and start, other rounds of its runs. *Other load*: the same board with a load that its earlier
campaign did not have. *Unlike*: another program on a board with another CPU and disk. *Contrary*:
the new landscape with its ranking reversed, so that the earlier campaign is wrong everywhere. For
each seed an earlier campaign of EARLIER runs is made, and a new one from it, beside a fresh one.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from foreread.analyzer.tuner.campaign.campaign import Campaign, Rules
from foreread.analyzer.tuner.campaign.campaign_setup import CampaignSetup
from foreread.analyzer.tuner.engines.earlier import Earlier
from foreread.analyzer.tuner.engines.make import make_engine
from foreread.analyzer.tuner.engines.recipe import load_recipe
from foreread.analyzer.tuner.engines.stopping import Budget
from foreread.analyzer.tuner.findings.earlier import earlier_of
from foreread.analyzer.tuner.findings.results import Results
from foreread.analyzer.tuner.store.records import Board, Spec
from foreread.analyzer.tuner.store.store import Store
from studies.tuning.competition import Curve, compete
from studies.tuning.landscape import Landscape, Row
from studies.tuning.provenance import made
from studies.tuning.starts import landscape_of, lines_of

EARLIER = 60  # runs
SHARES = (0.02, 0.03, 0.05, 0.1, 0.2)  # of the runs that measuring everything takes
Lines = Sequence[Mapping[str, Any]]


def main() -> None:
    """Run the pairs, print a table, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args()
    figures = []
    for name, (earlier, new, runs) in pairs().items():
        pair_figure = figure(name, earlier, new, runs, range(args.seeds))
        figures.append(pair_figure)
        print(row(pair_figure), flush=True)
    if args.output:
        document = {**made(), "seeds": args.seeds, "earlier_runs": EARLIER, "pairs": figures}
        args.output.write_text(json.dumps(document, indent=1) + "\n")


def pairs() -> dict[str, tuple[Landscape, Landscape, int]]:
    """Return the earlier landscape, the new one, and the runs that measuring the new one takes."""
    madplay, writer = lines_of("start-up"), lines_of("start-up-writer")
    idle, reader = (_of(madplay, scenario) for scenario in ("idle", "reader"))
    php = _of(lines_of("start-up-php"), "idle")
    return {
        "like, idle": _pair(_rounds(idle, 0), _rounds(idle, 1), len(idle)),
        "like, writer": _pair(_rounds(writer, 0), _rounds(writer, 1), len(writer) // 2),
        "other load: idle, then writer": _pair(idle, writer, len(writer) // 2),
        "other load: reader, then idle": _pair(reader, idle, len(idle)),
        "unlike: php on arm64, then madplay": _pair(php, idle, len(idle)),
        "unlike: madplay, then php on arm64": _pair(idle, php, len(php)),
        "contrary: idle": (contrary(landscape_of(idle)), landscape_of(idle), len(idle)),
        "contrary: writer": (
            contrary(landscape_of(writer)),
            landscape_of(writer),
            len(writer) // 2,
        ),
    }


def contrary(landscape: Landscape) -> Landscape:
    """Return the landscape with the reciprocal of every value: the best setting is the worst."""
    rows = [
        Row(row.alleles, {name: [1 / value for value in row.values[name]] for name in row.values})
        for row in landscape.table.rows
    ]
    return Landscape(msgspec.structs.replace(landscape.table, rows=rows))


def figure(
    name: str, earlier: Landscape, new: Landscape, runs: int, seeds: Sequence[int]
) -> dict[str, Any]:
    """Return the regrets of both searches after each share of the runs.

    ``earlier_optimum`` is the regret, on the new landscape, of the best setting of the earlier one,
    in which every setting was measured: on like boards, the effect of the noise of both.
    """
    recipe, attempts = load_recipe("start-up"), int(SHARES[-1] * runs)
    campaigns = {seed: campaign(earlier, seed) for seed in seeds}
    fresh, continued = _both(recipe, new, campaigns, attempts)
    return {
        "pair": name,
        "runs": runs,
        "earlier_optimum": round(new.regret(earlier.optimum), 5),
        "after": [
            {
                "share": share,
                "attempts": (at := int(share * runs)),
                "fresh": _summary(fresh, at),
                "from": _summary(continued, at),
            }
            for share in SHARES
        ],
    }


def _both(
    recipe: Any, new: Landscape, campaigns: Mapping[int, Earlier], attempts: int
) -> tuple[Curve, Curve]:
    fresh, continued = compete(
        new,
        {
            "fresh": lambda seed: make_engine(recipe, new.space, seed),
            "from": lambda seed: make_engine(recipe, new.space, seed, earlier=campaigns[seed]),
        },
        list(campaigns),
        attempts,
    )
    return fresh, continued


def campaign(landscape: Landscape, seed: int) -> Earlier:
    """Return what a campaign of EARLIER runs on a landscape leaves to a later one."""
    setup = CampaignSetup(load_recipe("start-up"), landscape.space)
    spec = Spec(
        board=Board("earlier"),
        scenarios=tuple(landscape.scenarios),
        default=landscape.space.default(),
        sampler="start-up",
        recipe=setup.recipe_text,
        space=setup.space_text,
        seed=seed + 500,
    )
    rules = Rules(budget=Budget(evaluations=EARLIER), patience=None)
    with Store.in_memory(spec) as store:
        Campaign(store, setup.engine(spec.seed), landscape, rules).run()
        return earlier_of(Results.of(store))


def row(pair: Mapping[str, Any]) -> str:
    """Return a row of the table: median regret and seeds within 2 %, after each share."""
    cells = [
        f"{100 * point['share']:.0f} % ({point['attempts']}): "
        f"fresh {100 * point['fresh']['median']:.1f} % ({point['fresh']['close']}), "
        f"from {100 * point['from']['median']:.1f} % ({point['from']['close']})"
        for point in pair["after"]
    ]
    best = f"earlier optimum {100 * pair['earlier_optimum']:.1f} %"
    return f"| {pair['pair']} | " + " | ".join([*cells, best]) + " |"


def _summary(curve: Curve, at: int) -> dict[str, float]:
    return {
        "median": round(curve.median(at), 5),
        "worst": round(float(np.max(curve.regrets[:, at - 1])), 5),
        "close": curve.reached(0.02, at),
    }


def _pair(earlier: Lines, new: Lines, runs: int) -> tuple[Landscape, Landscape, int]:
    return landscape_of(earlier), landscape_of(new), runs


def _of(lines: Lines, scenario: str) -> Lines:
    return [line for line in lines if line["scenario"] == scenario]


def _rounds(lines: Lines, half: int) -> Lines:
    """Return every second round of each setting, from the first or the second on."""
    seen: dict[tuple[Any, ...], int] = defaultdict(int)
    kept = []
    for line in lines:
        key = tuple(
            line[name] for name in ("scheduler", "nr_requests", "read_ahead_kb", "swappiness")
        )
        if seen[key] % 2 == half:
            kept.append(line)
        seen[key] += 1
    return kept


if __name__ == "__main__":
    main()
