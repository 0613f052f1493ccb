"""Competition of samplers on measured starts: which one finds the best in the fewest runs.

    python -m studies.tuning.compete [--raw RAW] [--predicted FILE] [--seeds N] [-o FILE]
        [SCENARIO,SCENARIO...]

RAW is what measure.py wrote: every combination of scheduler, its nr_requests, window and
swappiness in every scenario. Each sampler runs in a campaign as it would on the board, with the
same repeats and the same runs of the default, all of them counted; a run is drawn from those
measured there. FILE of --predicted is what `foreread predict --json` says of a capture of the
same start.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from analyzer.tuner.engine import Engine
from analyzer.tuner.engines.make import make_engine
from analyzer.tuner.space.genes import NONE, Allele, Gene, Space
from boards.document import SCHEMA
from studies.tuning.competition import Curve, MakeEngine, compete
from studies.tuning.landscape import Landscape, Row, Table
from studies.tuning.study_recipes import load_recipe

HERE = Path(__file__).parent
RAW = HERE / "raw/start-up.jsonl"
RECIPES = ("start-up", "genetic-library", "tpe", "random", "exhaustive")
DEFAULT: dict[str, Allele] = {
    "scheduler": "mq-deadline",
    "nr_requests": 2,
    "read_ahead_kb": 128,
    "swappiness": 60,
}
GENES = tuple(DEFAULT)
SHARES = (0.05, 0.1, 0.2)  # of the runs that measuring everything took
CLOSE = 0.02  # of the optimum's time
LIMIT_S = 20.0  # a start that took longer was given up, and counts as that


def landscape_of(lines: Sequence[Mapping[str, Any]], scenarios: Sequence[str] = ()) -> Landscape:
    """Return the landscape in the raw file's lines, of all ``scenarios`` in it or of those given.

    Raises ValueError where a combination was not measured in each of them.
    """
    values: dict[tuple[Allele, ...], dict[str, list[float]]] = defaultdict(dict)
    for line in lines:
        alleles = tuple(line[name] for name in GENES)
        seconds = line["guest_ns"] / 1e9 if line["status"] == 0 else LIMIT_S
        values[alleles].setdefault(line["scenario"], []).append(seconds)
    names = list(scenarios) or scenarios_in(lines)
    columns = [set(column) for column in zip(*values, strict=True)]
    genes = [_gene(name, one, columns[0]) for name, one in zip(GENES, columns, strict=True)]
    missing = Space(tuple(genes)).size - sum(set(names) <= set(one) for one in values.values())
    if missing:
        raise ValueError(f"{missing} combinations are not measured yet: measure.py goes on")
    rows = [
        Row(list(alleles), {name: by[name] for name in names}) for alleles, by in values.items()
    ]
    return Landscape(Table(scenarios=names, genes=genes, rows=rows))


def scenarios_in(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the scenarios that were measured."""
    return sorted({line["scenario"] for line in lines})


def _gene(name: str, alleles: set[Allele], schedulers: set[Allele]) -> Gene:
    if name == "scheduler":
        words = tuple(sorted(map(str, alleles)))
        return Gene(name=name, kind="categorical", choices=words, default=DEFAULT[name])
    numbers = tuple(sorted(int(one) for one in alleles if one != NONE))
    real: tuple[Allele, ...] = tuple(sorted(str(one) for one in schedulers if one != NONE))
    needs = {"scheduler": real} if NONE in alleles else {}  # no scheduler, nothing to choose
    return Gene(name=name, kind="integer", choices=numbers, default=DEFAULT[name], requires=needs)


def engine(name: str, space: Space, predicted: Mapping[int, float] | None, seed: int) -> Engine:
    """Return a new engine of a recipe."""
    return make_engine(load_recipe(name), space, seed, predicted=predicted)


def engines(space: Space, predicted: Mapping[int, float] | None) -> dict[str, MakeEngine]:
    """Return what competes, by name."""
    found: dict[str, MakeEngine] = {}
    if predicted:
        found["start-up, window predicted"] = partial(engine, "start-up", space, predicted)
    return found | {name: partial(engine, name, space, None) for name in RECIPES}


def gains(landscape: Landscape) -> dict[str, Any]:
    """Return what the best brings over the default, and over the best window alone.

    ``seconds`` are medians by scenario; ``worst`` is the setting that costs most, and how many
    times the default's seconds it takes.
    """
    space = landscape.space
    window_gene = next(gene for gene in space.genes if gene.name == "read_ahead_kb")
    alone = [{**DEFAULT, "read_ahead_kb": window} for window in window_gene.alleles]
    window = min(alone, key=landscape.regret)
    worst = max(space.enumerate(), key=landscape.regret)
    of_default, of_window = landscape.regret(DEFAULT), landscape.regret(window)
    return {
        "optimum": dict(landscape.optimum),
        "best_window_alone": window["read_ahead_kb"],
        "over_default": 1 - 1 / (1 + of_default),
        "over_window_alone": 1 - 1 / (1 + of_window),
        "window_alone_over_default": 1 - (1 + of_window) / (1 + of_default),
        "worst": worst,
        "worst_times_default": (1 + landscape.regret(worst)) / (1 + of_default),
        "seconds": {
            "default": landscape.medians(DEFAULT),
            "best_window_alone": landscape.medians(window),
            "optimum": landscape.medians(landscape.optimum),
        },
    }


def attempts_until_close(curve: Curve) -> list[int | None]:
    """Return for each seed after how many runs it was, and stayed, close to the optimum."""
    found: list[int | None] = []
    for regrets in curve.regrets:
        far = np.flatnonzero(regrets > CLOSE)
        after = int(far[-1]) + 2 if len(far) else 1
        found.append(after if after <= len(regrets) else None)
    return found


def outcome(landscape: Landscape, curves: Sequence[Curve], exhaustive: int) -> dict[str, Any]:
    """Return the figures of a competition; ``exhaustive``: the runs that measuring all takes.

    With their repeats.
    """
    at = {share: max(round(share * exhaustive), 1) for share in SHARES}
    return {
        "scenarios": landscape.table.scenarios,
        "points": landscape.points,
        "runs_exhaustive": exhaustive,
        "gains": gains(landscape),
        "samplers": [
            {
                "name": curve.name,
                "seeds": len(curve.regrets),
                "median_regret": {str(share): curve.median(n) for share, n in at.items()},
                "close": {str(share): curve.reached(CLOSE, n) for share, n in at.items()},
                "runs_until_close": attempts_until_close(curve),
            }
            for curve in curves
        ],
    }


def table(found: Mapping[str, Any]) -> str:
    """Return a competition as a table in Markdown."""
    shares = [str(share) for share in SHARES]
    runs = [round(share * found["runs_exhaustive"]) for share in SHARES]
    titles = [f"{100 * share:.0f} % ({n} runs)" for share, n in zip(SHARES, runs, strict=True)]
    lines = [
        f"| {', '.join(found['scenarios'])} | {' | '.join(titles)} | runs until within 2 % |",
        "|---" * (len(shares) + 2) + "|",
    ]
    for one in found["samplers"]:
        cells = [
            f"{100 * one['median_regret'][share]:.1f} % ({one['close'][share]}/{one['seeds']})"
            for share in shares
        ]
        until = sorted(n if n is not None else sys.maxsize for n in one["runs_until_close"])
        middle = median(until)
        said = "–" if middle >= sys.maxsize / 2 else f"{middle:.0f}"
        lines.append(f"| {one['name']} | {' | '.join(cells)} | {said} |")
    return "\n".join(lines)


def predicted_in(path: Path) -> dict[int, float]:
    """Return seconds by read_ahead_kb of a prediction's JSON."""
    total = json.loads(path.read_text())["total"]
    pairs = zip(total["read_ahead_kb"], total["seconds"], strict=True)
    return {kb: seconds for kb, seconds in pairs if seconds is not None}


def main() -> int:
    """Let them compete in each scenario and in all together; print tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--raw", type=Path, default=RAW, metavar="RAW")
    parser.add_argument("--predicted", type=Path, metavar="FILE")
    parser.add_argument(
        "--runs", type=int, metavar="N", help="shares are of so many (default: of those in RAW)"
    )
    parser.add_argument("--seeds", type=int, default=20, metavar="N")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="JSON of all figures")
    parser.add_argument(
        "scenarios",
        nargs="*",
        metavar="SCENARIO,SCENARIO...",
        help="those that count together, one competition each (all, and each alone)",
    )
    args = parser.parse_args()
    lines = [json.loads(line) for line in args.raw.read_text().splitlines()]
    predicted = predicted_in(args.predicted) if args.predicted else None
    every = scenarios_in(lines)
    together = [text.split(",") for text in args.scenarios]
    found = []
    for chosen in together or [every, *([one] for one in every if len(every) > 1)]:
        landscape = landscape_of(lines, chosen)
        exhaustive = args.runs or sum(line["scenario"] in chosen for line in lines)
        runs = round(max(SHARES) * exhaustive)
        curves = compete(landscape, engines(landscape.space, predicted), range(args.seeds), runs)
        found.append(outcome(landscape, curves, exhaustive))
        print(f"\n{table(found[-1])}\n\n{json.dumps(found[-1]['gains'])}", flush=True)
    if args.output:
        args.output.write_text(
            json.dumps({"schema": SCHEMA, "competitions": found}, indent=1) + "\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
