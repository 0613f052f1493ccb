"""The figures of the IOPerf study, from its rows: gains over the default, and possible gains.

A row is one workload: its ``default``, ``tuned`` and ``again`` (the default once more), each as a
run's figures; for some of them what ioperf_headroom.py found, and ``settings``, a whole grid of
runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from statistics import fmean, median, stdev
from typing import Any

from foreread.analyzer.tuner.engines.patterns import RANGES, similarity
from foreread.boards.base.units import KIB
from studies.tuning.ioperf_chromosomes import pattern_in

Row = Mapping[str, Any]
_WINDOWS = ((0, 256), (257, 512), (513, 1023))  # KiB
_REQUEST_BYTES = 255 * 512  # Linux's limit where a driver states none, as the board's disk
_GAINS = (0.0, 0.02, 0.05, 0.1, 0.2963)
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
    """Return by how much a request takes less than under the default, in parts of the default."""
    return float(1 - run["latency_s"] / default["latency_s"])


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the paper's figures over all rows, by clearance, reads and setting; and the noise."""
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
        **{
            f"{scheduler} applied": [row for row in rows if _applied(row, "scheduler") == scheduler]
            for scheduler in sorted({_applied(row, "scheduler") for row in rows})
        },
        **{
            f"window {low}-{high} KiB applied": [
                row for row in rows if low <= _applied(row, "read_ahead_kb") <= high
            ]
            for low, high in _WINDOWS
        },
    }
    by_group = {name: figures(of, "tuned") for name, of in groups.items() if of}
    return {**by_group, "default_again": figures([row for row in rows if "again" in row], "again")}


def figures(rows: Sequence[Row], of: str) -> dict[str, float]:
    """Return the gains of the runs called ``of``: shares of workloads, means, and their errors."""
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


def headroom(rows: Sequence[Row]) -> dict[str, Any]:
    """Return what better settings gain, by runs that did not choose them.

    ``found``: the best found for each workload. ``lent``: the window that is best for the most
    similar other one, as IOPerf's normal mode would apply it if its population knew the best for
    each of its workloads. ``tuned``: what IOPerf applied. ``first_runs``: the best by the runs
    that chose it, luck included. ``larger_than``: in which share of the workloads the best found
    gains more than that. ``settings``: those that were tried for all of them. ``grid``: for some,
    what every setting finds beside what was found.
    """
    climbed = [row for row in rows if "headroom" in row]
    if not climbed:
        return {}
    counted = [_fresh(row) | {"lent": _lent(row, climbed)} for row in climbed]
    gains = [productivity_gain(row["found"], row["default"]) for row in counted]
    return {
        **{name: figures(counted, name) for name in ("found", "lent", "tuned")},
        "first_runs": fmean(
            max(productivity_gain(run, row["default"]) for run in row["headroom"]["tried"])
            for row in climbed
        ),
        "larger_than": {str(gain): fmean(each > gain for each in gains) for gain in _GAINS},
        "settings": _by_setting(climbed),
        "found_windows": _counts(row["headroom"]["best"]["read_ahead_kb"] for row in climbed),
        "found_schedulers": _counts(row["headroom"]["best"]["scheduler"] for row in climbed),
        "grid": _grid(rows),
    }


def ceiling(rows: Sequence[Row], costs: Mapping[str, int]) -> dict[str, float]:
    """Return the most bytes a second that the disk moves, and what reaching that would gain.

    ``above``: workloads that do more under the default already, with what is in memory.
    """
    most = _REQUEST_BYTES / (costs["latency_ns"] + costs["ns_per_kib"] * _REQUEST_BYTES / KIB) * 1e9
    rates = [_rate(row["default"]) for row in rows]
    return {
        "bytes_per_second": most,
        "default": fmean(rates),
        "gain": fmean(max(most / rate - 1, 0) for rate in rates),
        "above": sum(rate > most for rate in rates),
    }


def headroom_table(document: Mapping[str, Any]) -> str:
    """Return what better settings gain as tables of Markdown."""
    if not document:
        return ""
    lines = [
        "| | workloads | productivity up in | by, mean | median | latency down by |",
        "|---" * 6 + "|",
    ]
    for name in ("found", "lent", "tuned"):
        figure = document[name]
        lines.append(
            f"| {name} | {figure['workloads']} | {figure['productivity_improved']:.1%}"
            f" | {figure['productivity_gain']:+.1%} ± {figure['productivity_error']:.1%}"
            f" | {figure['productivity_median']:+.1%} | {figure['latency_gain']:+.1%} |"
        )
    lines += ["", "| setting | workloads | gain, mean | up in |", "|---" * 4 + "|"]
    lines += [
        f"| {row['setting']} | {row['workloads']} | {row['gain']:+.1%} ± {row['error']:.1%}"
        f" | {row['improved']:.0%} |"
        for row in document["settings"]
    ]
    rest = {name: document[name] for name in document if name not in ("found", "lent", "tuned")}
    del rest["settings"]
    return "\n".join([*lines, "", *(f"{name}: {value}" for name, value in rest.items())])


def table(document: Mapping[str, Any]) -> str:
    """Return a summary and the paper's figures as a table of Markdown."""
    names = ("productivity_improved", "productivity_gain", "latency_improved", "latency_gain")
    lines = [
        "| | workloads | productivity up in | by, mean | latency down in | by, mean | both |",
        "|---|---|---|---|---|---|---|",
    ]
    every: dict[str, Mapping[str, float]] = {"the paper": PAPER | {"workloads": 1000}}
    for name, figure in {**every, **document}.items():
        first, gain, second, less = (figure[key] for key in names)
        lines.append(
            f"| {name.replace('_', ' ')} | {figure['workloads']} | {first:.1%}"
            f" | {gain:+.2%}{_give_or_take(figure, 'productivity_error')} | {second:.1%}"
            f" | {less:+.2%}{_give_or_take(figure, 'latency_error')}"
            f" | {figure['both_improved']:.1%} |"
        )
    return "\n".join(lines)


def _applied(row: Row, gene: str) -> Any:
    return row["chromosome"][gene]


def _give_or_take(figure: Mapping[str, float], error: str) -> str:
    return f" ± {figure[error]:.2%}" if error in figure else ""


def _rate(run: Row) -> float:
    return float(run["transferred_bytes"] / run["seconds"])


def _error(values: Sequence[float]) -> float:
    return stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0


def _fresh(row: Row) -> dict[str, Any]:
    """Return a row of runs that chose nothing; where the default is the best, that is its own."""
    of = row["headroom"]
    default = _together(of["fresh_default"])
    return {
        "default": default,
        "found": _together(of["fresh_best"]) if of["fresh_best"] else default,
        "tuned": row["tuned"],
    }


def _lent(row: Row, rows: Sequence[Row]) -> Row:
    """Return a row's run under the window that is best for the most similar other workload."""
    workload = pattern_in(row["workload"])
    other_rows = [other for other in rows if other is not row]
    lender = max(other_rows, key=lambda other: similarity(pattern_in(other["workload"]), workload))
    best = max(_windows(lender), key=_rate)
    return next(run for run in _windows(row) if run["read_ahead_kb"] == best["read_ahead_kb"])


def _windows(row: Row) -> list[Row]:
    """Return the runs under the default's scheduler, the default's first."""
    tried: list[Row] = row["headroom"]["tried"]
    return [run for run in tried if run["scheduler"] == tried[0]["scheduler"]]


def _together(runs: Sequence[Row]) -> Row:
    """Return several runs of the same as one."""
    requests = sum(run["requests"] for run in runs)
    return {
        "transferred_bytes": sum(run["transferred_bytes"] for run in runs),
        "seconds": sum(run["seconds"] for run in runs),
        "requests": requests,
        "latency_s": sum(run["latency_s"] * run["requests"] for run in runs) / requests,
    }


def _by_setting(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return what each setting gains that was tried for all of the workloads, windows by size.

    None of them was chosen, so that their first runs may count.
    """
    gains: dict[tuple[int, str], list[float]] = {}
    for row in rows:
        for run in row["headroom"]["tried"]:
            gain = productivity_gain(run, row["default"])
            gains.setdefault((run["read_ahead_kb"], run["scheduler"]), []).append(gain)
    return [
        {
            "setting": f"{scheduler}, {window} KiB",
            "workloads": len(each),
            "gain": fmean(each),
            "error": _error(each),
            "improved": fmean(gain > 0 for gain in each),
        }
        for (window, scheduler), each in sorted(gains.items())
        if len(each) == len(rows)
    ]


def _grid(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return, for each workload with every setting tried, the best setting and the one found."""
    return [
        {
            "every_setting": max(productivity_gain(run, row["default"]) for run in row["settings"]),
            "climb": max(
                productivity_gain(run, row["default"]) for run in row["headroom"]["tried"]
            ),
        }
        for row in rows
        if "settings" in row and "headroom" in row
    ]


def _counts(values: Iterable[Any]) -> dict[str, int]:
    return {str(value): count for value, count in sorted(Counter(values).items())}
