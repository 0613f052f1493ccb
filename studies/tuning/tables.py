"""Writes the tables of the tuning pages from raw data and figures.

    python -m studies.tuning.tables [--check]

A table stands between a line ``<!-- table NAME -->`` and ``<!-- end -->``. With --check nothing is
written, and the exit code is 1 if a table is out of date.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from studies.tuning import contest, turns
from studies.tuning.starts import GENES, gains, landscape_of, lines_of, scenarios_in

HERE = Path(__file__).parent
FIGURES = HERE / "figures"
PAGES = tuple(HERE / name for name in ("start-up.md", "contest.md", "fingerprints.md"))
SHARES = (0.02, 0.03, 0.05, 0.2)  # of the runs that measuring everything takes
PROGRAMS = {"madplay": "start-up", "php": "start-up-php"}
_TABLE = re.compile(r"(<!-- table (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def refreshed(text: str, figures: Path = FIGURES) -> str:
    """Return a page with its tables as the figures say; KeyError for an unknown table."""

    def written(match: re.Match[str]) -> str:
        return f"{match[1]}{TABLES[match[2]](figures)}\n{match[3]}"

    return _TABLE.sub(written, text)


def landscapes(_: Path) -> str:
    """Return the gains of the best settings on the measured starts, in per cent."""
    rows = []
    for program, stem in PROGRAMS.items():
        lines = lines_of(stem)
        for scenario in scenarios_in(lines):
            best = gains(landscape_of(lines, [scenario]))
            seconds = [f"{each[scenario]:.3f}" for each in best["seconds"].values()]
            seconds[1] += f" ({best['best_window_alone']})"
            settings = "/".join(str(best["optimum"][name]) for name in GENES)
            shares = (100 * best[name] for name in ("over_default", "over_window_alone"))
            cells = (*seconds, settings, *(f"{share:.1f}" for share in shares))
            rows.append(f"{program}: {scenario} | {' | '.join(cells)}")
    head = "start, scenario | default, s | best window (KiB) | best, s | its settings"
    return _table(f"{head} | over default | over window", rows)


def from_earlier(figures: Path) -> str:
    """Return the median regret of searches with --from, and in brackets of fresh ones."""
    pairs = _read(figures, "from-earlier")["pairs"]
    rows = [
        f"{pair['pair']} ({pair['runs']}) | "
        + " | ".join(
            f"{100 * at['from']['median']:.1f} ({100 * at['fresh']['median']:.1f})"
            for at in pair["after"]
            if at["share"] in SHARES
        )
        for pair in pairs
    ]
    shares = " | ".join(f"{100 * share:.0f} %" for share in SHARES)
    return _table(f"earlier, new (runs) | {shares}", rows)


def confirmation_noise(figures: Path) -> str:
    """Return false and lost savings by group of landscapes, and the regret of each kind of winner.

    By the noise of each chromosome, and in brackets by the pooled one.
    """
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in _read(figures, "confirmation-noise")["found"]:
        groups.setdefault(_group(row["landscape"]), []).append(row)
    rows = [
        f"{group} | {sum(row['own']['confirmations'] for row in some)} | "
        + " | ".join(_both(some, name) for name in ("false", "lost"))
        + " | "
        + ", ".join(_regrets(some, winner) for winner in ("optimum", "searched", "useless"))
        for group, some in groups.items()
    ]
    head = "landscapes | confirmations | false | lost"
    return _table(f"{head} | regret after it: optimum, searched, useless, %", rows)


def _group(landscape: str) -> str:
    if landscape == "start-up: reader":
        return "madplay beside the reader"
    if landscape.startswith("start-up"):
        return "other measured starts"
    return re.sub(r" \d+(: .*)?$", "", landscape)


def _both(some: Sequence[Mapping[str, Any]], name: str) -> str:
    own, pooled = (sum(row[rule][name] for row in some) for rule in ("own", "pooled"))
    return f"{own} ({pooled})"


def _regrets(some: Sequence[Mapping[str, Any]], winner: str) -> str:
    rows = [row for row in some if row["winner"] == winner]
    own, pooled = (100 * fmean(row[rule]["regret"] for row in rows) for rule in ("own", "pooled"))
    return f"{own:.1f} ({pooled:.1f})"


def contests(figures: Path) -> str:
    """Return the table of the contest."""
    lines = (figures / "contest.jsonl").read_text().splitlines()
    return contest.table([json.loads(line) for line in lines])


def scenarios_in_turn(figures: Path) -> str:
    """Return the evaluations of a turn, without fingerprints and with them."""
    return turns.as_markdown(_read(figures, "turns"))


def _table(head: str, rows: Sequence[str]) -> str:
    lines = [head, "|".join(["---"] * (head.count("|") + 1)), *rows]
    return "\n".join(f"| {line} |" if "---" not in line else f"|{line}|" for line in lines)


def _read(figures: Path, stem: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((figures / f"{stem}.json").read_text())
    return document


TABLES: dict[str, Callable[[Path], str]] = {
    "landscapes": landscapes,
    "from-earlier": from_earlier,
    "confirmation-noise": confirmation_noise,
    "contest": contests,
    "turns": scenarios_in_turn,
}


def main() -> int:
    """Write the tables, or report whether they are up to date."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    args = parser.parse_args()
    late = 0
    for page in PAGES:
        text = page.read_text()
        new = refreshed(text)
        if not args.check:
            page.write_text(new)
        elif new != text:
            print(f"{page} is out of date: python -m studies.tuning.tables", file=sys.stderr)
            late = 1
    return late


if __name__ == "__main__":
    sys.exit(main())
