"""The measured starts as landscapes, and what the best settings on them gain.

The raw files are those of measure.py: every combination of scheduler, its nr_requests, window and
swappiness in every scenario. tables.py writes the gains into start-up.md.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from foreread.analyzer.tuner.space.genes import NONE, Allele, Gene, Space
from studies.tuning.landscape import Landscape, Row, Table

HERE = Path(__file__).parent
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
LIMIT_S = 20.0  # a start that took longer was ended, and counts as that


def lines_of(stem: str) -> list[dict[str, Any]]:
    """Return the lines of a raw file."""
    text = (HERE / f"raw/{stem}.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def landscape_of(lines: Sequence[Mapping[str, Any]], scenarios: Sequence[str] = ()) -> Landscape:
    """Return the landscape in the raw file's lines, of ``scenarios``, by default of all of them.

    Raises ValueError where a combination was not measured in each of them.
    """
    values: dict[tuple[Allele, ...], dict[str, list[float]]] = defaultdict(dict)
    for line in lines:
        alleles = tuple(line[name] for name in GENES)
        seconds = line["guest_ns"] / 1e9 if line["status"] == 0 else LIMIT_S
        values[alleles].setdefault(line["scenario"], []).append(seconds)
    names = list(scenarios) or scenarios_in(lines)
    columns = [set(column) for column in zip(*values, strict=True)]
    genes = [_gene(name, column, columns[0]) for name, column in zip(GENES, columns, strict=True)]
    missing = Space(tuple(genes)).size - sum(
        set(names) <= set(by_scenario) for by_scenario in values.values()
    )
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
    numbers = tuple(sorted(int(allele) for allele in alleles if allele != NONE))
    real: tuple[Allele, ...] = tuple(sorted(str(allele) for allele in schedulers if allele != NONE))
    needs = {"scheduler": real} if NONE in alleles else {}  # no scheduler, nothing to choose
    return Gene(name=name, kind="integer", choices=numbers, default=DEFAULT[name], requires=needs)


def gains(landscape: Landscape) -> dict[str, Any]:
    """Return what the best brings over the default, and over the best window alone.

    ``seconds`` are medians by scenario.
    """
    space = landscape.space
    window_gene = next(gene for gene in space.genes if gene.name == "read_ahead_kb")
    alone = [{**DEFAULT, "read_ahead_kb": window} for window in window_gene.alleles]
    window = min(alone, key=landscape.regret)
    return {
        "optimum": dict(landscape.optimum),
        "best_window_alone": window["read_ahead_kb"],
        "over_default": 1 - 1 / (1 + landscape.regret(DEFAULT)),
        "over_window_alone": 1 - 1 / (1 + landscape.regret(window)),
        "seconds": {
            "default": landscape.medians(DEFAULT),
            "best_window_alone": landscape.medians(window),
            "optimum": landscape.medians(landscape.optimum),
        },
    }


def predicted_in(path: Path) -> dict[int, float]:
    """Return seconds by read_ahead_kb of a prediction's JSON."""
    total = json.loads(path.read_text())["total"]
    pairs = zip(total["read_ahead_kb"], total["seconds"], strict=True)
    return {kb: seconds for kb, seconds in pairs if seconds is not None}


def usual_sets(scenarios: Sequence[str]) -> list[list[str]]:
    """Return the scenarios that count together: all, all but memory's chance, and each alone."""
    quiet = [scenario for scenario in scenarios if scenario != CHANCE]
    sets = [list(scenarios), quiet, *([scenario] for scenario in scenarios)]
    return [chosen for place, chosen in enumerate(sets) if chosen not in sets[:place]]
