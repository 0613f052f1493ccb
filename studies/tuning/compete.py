"""Competition of samplers on measured starts: which one finds the best in the fewest runs.

    python -m studies.tuning.compete [--raw RAW] [--predicted FILE] [--seeds N] [--only NAME,…]
        [--resume] [-o FILE] [SCENARIO,SCENARIO...]

RAW is what measure.py wrote: every combination of scheduler, its nr_requests, window and
swappiness in every scenario. Each sampler runs in a campaign as it would on the board, once with
the race and once with the rule of ``start-up`` (contestants.py); all runs are counted, those of the
default, too. A run is drawn from those measured there. FILE of --predicted is what `foreread
predict --json` says of a capture of the same start. FILE of -o is written after each row;
--resume keeps the rows that it has.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

from analyzer.tuner.engines.recipe import RecipeError
from analyzer.tuner.space.genes import NONE, Allele, Gene, Space
from boards.document import SCHEMA
from studies.tuning.competition import Cost, Curve, compete
from studies.tuning.contestants import EVERY, Contestant
from studies.tuning.landscape import Landscape, Row, Table
from studies.tuning.provenance import made

HERE = Path(__file__).parent
RAW = HERE / "raw/start-up.jsonl"
DEFAULT: dict[str, Allele] = {
    "scheduler": "mq-deadline",
    "nr_requests": 2,
    "read_ahead_kb": 128,
    "swappiness": 60,
}
GENES = tuple(DEFAULT)
SHARES = (0.05, 0.1)  # of the runs that measuring everything took
CLOSE = 0.02  # of the optimum's time
CHANCE = "memory"  # the scenario in which runs of one setting differ more than settings do
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


def competition(landscape: Landscape, exhaustive: int) -> dict[str, Any]:
    """Return the figures of a competition without any row.

    ``exhaustive``: the runs that measuring all takes, with their repeats.
    """
    return {
        "scenarios": landscape.table.scenarios,
        "points": landscape.points,
        "runs_exhaustive": exhaustive,
        "gains": gains(landscape),
        "samplers": [],
    }


def row(contestant: Contestant, curve: Curve, exhaustive: int) -> dict[str, Any]:
    """Return a contestant's figures."""
    at = {share: max(round(share * exhaustive), 1) for share in SHARES}
    return {
        **described(contestant),
        "seeds": len(curve.regrets),
        "median_regret": {str(share): curve.median(n) for share, n in at.items()},
        "close": {str(share): curve.reached(CLOSE, n) for share, n in at.items()},
        "runs_until_close": attempts_until_close(curve),
        "confirmation": confirmation(curve.confirmations),
    }


def described(contestant: Contestant) -> dict[str, Any]:
    """Return what identifies a row."""
    return {
        "name": contestant.name,
        "judged_by": contestant.judged_by,
        "as_shipped": contestant.as_shipped,
    }


def confirmation(costs: Sequence[Cost]) -> dict[str, float]:
    """Return medians over the seeds, and the shares that a saving was shown in, or close in."""
    return {
        "runs": median(one.runs for one in costs),
        "seconds": median(one.seconds for one in costs),
        "of_search": median(one.seconds / one.search_seconds for one in costs),
        "saves": fmean(one.saves for one in costs),
        "median_regret": median(one.regret for one in costs),
        "close": fmean(one.regret <= CLOSE for one in costs),
    }


def predicted_in(path: Path) -> dict[int, float]:
    """Return seconds by read_ahead_kb of a prediction's JSON."""
    total = json.loads(path.read_text())["total"]
    pairs = zip(total["read_ahead_kb"], total["seconds"], strict=True)
    return {kb: seconds for kb, seconds in pairs if seconds is not None}


def run(
    args: argparse.Namespace, lines: Sequence[Mapping[str, Any]], document: dict[str, Any]
) -> None:
    """Add the rows that ``document`` lacks, and write it after each."""
    every = scenarios_in(lines)
    predicted = predicted_in(args.predicted) if args.predicted else None
    together = [text.split(",") for text in args.scenarios]
    for chosen in together or usual_sets(every):
        landscape = landscape_of(lines, chosen)
        exhaustive = args.runs or sum(line["scenario"] in chosen for line in lines)
        found = _found(document["competitions"], chosen) or competition(landscape, exhaustive)
        if found not in document["competitions"]:
            document["competitions"].append(found)
        for one in contestants(args.only, predicted is not None):
            seeds = one.seeds(args.seeds)
            if any(
                {**known, **described(one), "seeds": seeds} == known for known in found["samplers"]
            ):
                continue
            engines = {one.name: one.engines(landscape.space, predicted)}
            try:
                engines[one.name](0)
            except RecipeError as error:
                print(f"{one.name} is left out: {error}; {error.remedy}", flush=True)
                continue
            runs = round(max(SHARES) * exhaustive)
            (curve,) = compete(landscape, engines, range(seeds), runs, confirm=True)
            found["samplers"].append(row(one, curve, exhaustive))
            print(line_of(found, found["samplers"][-1]), flush=True)
            if args.output:
                args.output.write_text(json.dumps(document, indent=1) + "\n")


def usual_sets(scenarios: Sequence[str]) -> list[list[str]]:
    """Return the scenarios that count together: all, all but memory's chance, and each alone."""
    quiet = [one for one in scenarios if one != CHANCE]
    sets = [list(scenarios), quiet, *([one] for one in scenarios)]
    return [one for place, one in enumerate(sets) if one not in sets[:place]]


def contestants(only: str, predicted: bool) -> list[Contestant]:
    """Return those that compete: all, or those whose recipes ``only`` names."""
    names = only.split(",") if only else [one.recipe for one in EVERY]
    return [one for one in EVERY if one.recipe in names and (predicted or not one.predicted)]


def line_of(found: Mapping[str, Any], one: Mapping[str, Any]) -> str:
    """Return a row as text."""
    cells = [
        f"{100 * one['median_regret'][str(share)]:.1f} % ({one['close'][str(share)]})"
        for share in SHARES
    ]
    name = f"{one['name']} ({one['judged_by']})"
    return f"{','.join(found['scenarios'])}: {name}: {'; '.join(cells)} of {one['seeds']}"


def _found(
    competitions: Sequence[dict[str, Any]], scenarios: Sequence[str]
) -> dict[str, Any] | None:
    return next((one for one in competitions if one["scenarios"] == list(scenarios)), None)


def main() -> int:
    """Let them compete in each scenario and in all together."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--raw", type=Path, default=RAW, metavar="RAW")
    parser.add_argument("--predicted", type=Path, metavar="FILE")
    parser.add_argument(
        "--runs", type=int, metavar="N", help="shares are of so many (default: of those in RAW)"
    )
    parser.add_argument("--seeds", type=int, default=20, metavar="N")
    parser.add_argument("--only", default="", metavar="RECIPE,…", help="these rows (default: all)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="JSON of all figures")
    parser.add_argument("--resume", action="store_true", help="keep the rows that FILE has")
    parser.add_argument(
        "scenarios",
        nargs="*",
        metavar="SCENARIO,SCENARIO...",
        help="those that count together, one competition each (all, and each alone)",
    )
    args = parser.parse_args()
    document: dict[str, Any] = {"schema": SCHEMA, "made": [], "competitions": []}
    if args.resume and args.output and args.output.exists():
        document = json.loads(args.output.read_text())
    document["made"].append(made())
    lines = [json.loads(line) for line in args.raw.read_text().splitlines()]
    run(args, lines, document)
    return 0


if __name__ == "__main__":
    sys.exit(main())
