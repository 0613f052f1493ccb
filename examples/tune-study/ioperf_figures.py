"""The figures of the IOPerf study, from its rows: gains over the default, and what was possible.

A row is one workload: its ``default``, ``tuned`` and ``again`` (the default once more), each as a
run's figures, and for some of them ``settings``, runs under settings on a grid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from statistics import fmean, median, stdev
from typing import Any

from analyzer.tuner.ioperf import RANGES

Row = Mapping[str, Any]
PAPER = {
    "productivity_improved": 0.882,
    "productivity_gain": 0.2963,
    "latency_improved": 0.775,
    "latency_gain": 0.1279,
    "both_improved": 0.775,
}


def productivity_gain(run: Row, default: Row) -> float:
    """Return how many bytes a second more than the default's, as a share of those."""
    return _rate(run) / _rate(default) - 1


def latency_gain(run: Row, default: Row) -> float:
    """Return by how much a request takes less than under the default, as a share of that."""
    return float(1 - run["latency_s"] / default["latency_s"])


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the paper's figures over all rows, by clearance and by share of reads, and noise."""
    groups = {
        "all": list(rows),
        "within_clearance": [row for row in rows if row["within_clearance"]],
        "outside_clearance": [row for row in rows if not row["within_clearance"]],
        **{
            f"reads {low}-{high} %": [
                row for row in rows if low <= row["workload"]["read_share"] <= high
            ]
            for low, high in RANGES
        },
    }
    found = {name: figures(of, "tuned") for name, of in groups.items() if of}
    return {**found, "default_again": figures([row for row in rows if "again" in row], "again")}


def figures(rows: Sequence[Row], of: str) -> dict[str, float]:
    """Return what the runs called ``of`` gained: shares of the workloads, means, errors of them."""
    productivity = [productivity_gain(row[of], row["default"]) for row in rows]
    latency = [latency_gain(row[of], row["default"]) for row in rows]
    both = zip(productivity, latency, strict=True)
    return {
        "workloads": len(rows),
        "productivity_improved": fmean(gain > 0 for gain in productivity),
        "productivity_gain": fmean(productivity),
        "productivity_error": _error(productivity),
        "productivity_median": median(productivity),
        "latency_improved": fmean(gain > 0 for gain in latency),
        "latency_gain": fmean(latency),
        "latency_error": _error(latency),
        "both_improved": fmean(a > 0 and b > 0 for a, b in both),
    }


def headroom(rows: Sequence[Row], default: Mapping[str, str]) -> dict[str, Any]:
    """Return what the grid of settings could have gained, and each gene by itself.

    A gene by itself: the best of its values while the others stay at ``default``.
    """
    tried = [row for row in rows if row.get("settings")]
    if not tried:
        return {}
    return {
        "workloads": len(tried),
        "tuned": fmean(productivity_gain(row["tuned"], row["default"]) for row in tried),
        "best": fmean(_best(row, row["settings"]) for row in tried),
        "best_largest": max(_best(row, row["settings"]) for row in tried),
        **{
            gene: fmean(_best(row, _alone(row["settings"], gene, default)) for row in tried)
            for gene in default
        },
        "one_setting": _one_setting(tried),
    }


def table(found: Mapping[str, Any]) -> str:
    """Return a summary, beside the paper's figures, as a table of Markdown."""
    names = ("productivity_improved", "productivity_gain", "latency_improved", "latency_gain")
    lines = [
        "| | workloads | productivity up in | by, mean | latency down in | by, mean | both |",
        "|---|---|---|---|---|---|---|",
    ]
    every: dict[str, Mapping[str, float]] = {"the paper": PAPER | {"workloads": 1000}}
    for name, one in {**every, **found}.items():
        first, gain, second, less = (one[key] for key in names)
        lines.append(
            f"| {name.replace('_', ' ')} | {one['workloads']} | {first:.1%}"
            f" | {gain:+.2%}{_give_or_take(one, 'productivity_error')} | {second:.1%}"
            f" | {less:+.2%}{_give_or_take(one, 'latency_error')} | {one['both_improved']:.1%} |"
        )
    return "\n".join(lines)


def _give_or_take(one: Mapping[str, float], error: str) -> str:
    return f" ± {one[error]:.2%}" if error in one else ""


def _rate(run: Row) -> float:
    return float(run["transferred_bytes"] / run["seconds"])


def _error(values: Sequence[float]) -> float:
    return stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0


def _best(row: Row, runs: Sequence[Row]) -> float:
    """Return the gain of the best of the runs; staying at the default is one of them."""
    return max([0.0, *(productivity_gain(run, row["default"]) for run in runs)])


def _alone(runs: Sequence[Row], gene: str, default: Mapping[str, str]) -> list[Row]:
    """Return the runs in which only ``gene`` may differ from the default."""
    return [
        run
        for run in runs
        if gene in run["set"]
        and all(default[name] == value for name, value in run["set"].items() if name != gene)
    ]


def _one_setting(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the setting that gains most over all of the workloads, the same for each."""
    gains: dict[str, list[float]] = {}
    for row in rows:
        for run in row["settings"]:
            name = " ".join(f"{knob} {value}" for knob, value in run["set"].items())
            gains.setdefault(name, []).append(productivity_gain(run, row["default"]))
    best = max(gains, key=lambda name: fmean(gains[name]))
    return {"setting": best, "gain": fmean(gains[best])}
