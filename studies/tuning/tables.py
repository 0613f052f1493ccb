"""Writes the tables of the journal start-up.md from the figures.

    python -m studies.tuning.tables [--check]

A table stands between a line ``<!-- table NAME -->`` and ``<!-- end -->``. With --check nothing is
written, and the exit code is 1 if a table is out of date.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any

from studies.tuning.compete_made_up import Outcome
from studies.tuning.compete_made_up import table as made_up_table

HERE = Path(__file__).parent
PAGE, FIGURES = HERE / "start-up.md", HERE / "figures"
CLOSE = 0.02  # of the optimum's time
_TABLE = re.compile(r"(<!-- table (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
_LANDSCAPE_KEYS = frozenset(
    ("number", "kind", "noise", "heavy", "prediction", "points", "runs_exhaustive")
)


def refreshed(text: str, figures: Path = FIGURES) -> str:
    """Return the page with its tables as the figures say; KeyError for an unknown table."""

    def written(match: re.Match[str]) -> str:
        return f"{match[1]}{TABLES[match[2]](figures)}\n{match[3]}"

    return _TABLE.sub(written, text)


def regrets(stem: str, figures: Path) -> str:
    """Return the regrets of all samplers in all scenarios."""

    def cell(one: Mapping[str, Any]) -> str:
        shares = zip(one["median_regret"].values(), one["close"].values(), strict=True)
        return "; ".join(f"{_percent(regret)} ({close})" for regret, close in shares)

    return _of_samplers(_read(figures, stem), cell)


def confirmations(stem: str, figures: Path) -> str:
    """Return what confirming the winner takes on top of the search, and how often it is close."""

    def cell(one: Mapping[str, Any]) -> str:
        cost = one["confirmation"]
        took = f"{cost['runs']:.0f}, {cost['seconds']:.0f} s ({100 * cost['of_search']:.0f} %)"
        return f"{took}; {cost['close'] * one['seeds']:.0f}"

    return _of_samplers(_read(figures, stem), cell)


def made_up(figures: Path) -> str:
    """Return the shares of searches that are close, and the mean regrets, on made-up landscapes."""
    document = _read(figures, "made-up-rules")
    outcomes = [
        Outcome(
            {key: one[key] for key in _LANDSCAPE_KEYS},
            {name: some for name, some in one.items() if name not in _LANDSCAPE_KEYS},
        )
        for one in document["found"]
    ]
    names = list(outcomes[0].regrets)
    return f"{made_up_table(outcomes, names)}\n\n{_made(document, document['seeds'])}"


def whole_catalogue(figures: Path) -> str:
    """Return the regrets on the whole catalogue."""
    document = _read(figures, "whole-catalogue")
    looks = list(document["samplers"][0]["regrets"])
    titles = " | ".join(f"after {runs} runs" for runs in looks)
    rows = [
        f"{_name(one)} | {' | '.join(_catalogue_cell(some) for some in one['regrets'].values())}"
        f" | {one['confirmation']['runs']:.0f} | {_percent(one['confirmation']['median_regret'])}"
        for one in document["samplers"]
    ]
    head = f"sampler | repeats by | {titles} | runs of confirmation | regret after it"
    note = _made(document, document["seeds"])
    return f"{_table(head, rows)}\n\n{document['landscapes']} landscapes. {note}"


def confirmation_noise(figures: Path) -> str:
    """Return false and lost savings, and regrets, by group of landscapes and kind of winner."""
    document = _read(figures, "confirmation-noise")
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for one in document["found"]:
        group = re.sub(r" \d+(: .*)?$", "", one["landscape"])
        groups.setdefault((group, one["winner"]), []).append(one)
    rows = [
        f"{group} | {winner} | {sum(one['own']['confirmations'] for one in some)} | "
        + " | ".join(_both(some, name) for name in ("false", "lost", "regret", "runs"))
        for (group, winner), some in groups.items()
    ]
    head = "landscape | winner | confirmations | false | lost | mean regret after it | runs"
    return f"{_table(head, rows)}\n\n{_made(document, document['seeds'])}"


def _both(some: Sequence[Mapping[str, Any]], name: str) -> str:
    """Return a figure by the noise of each chromosome, and in brackets by the pooled one."""
    own, pooled = ([one[rule][name] for one in some] for rule in ("own", "pooled"))
    if name == "regret":
        return f"{_percent(fmean(own))} ({_percent(fmean(pooled))})"
    if name == "runs":
        return f"{fmean(own):.0f} ({fmean(pooled):.0f})"
    return f"{sum(own)} ({sum(pooled)})"


def _catalogue_cell(some: Sequence[float]) -> str:
    close = sum(regret <= CLOSE for regret in some)
    return f"{_percent(median(some))}, mean {_percent(fmean(some))} ({close} of {len(some)})"


def _of_samplers(document: Mapping[str, Any], cell: Callable[[Mapping[str, Any]], str]) -> str:
    """Return a table of samplers × scenarios."""
    competitions = sorted(document["competitions"], key=lambda one: len(one["scenarios"]))
    titles = [f"{', '.join(one['scenarios'])} ({one['runs_exhaustive']})" for one in competitions]
    found = {
        (one["name"], one["judged_by"]): one
        for competition in competitions
        for one in competition["samplers"]
    }
    rows = [
        f"{_name(one)} | {one['seeds']} | {' | '.join(_cells(competitions, one, cell))}"
        for one in sorted(found.values(), key=_order)
    ]
    head = f"sampler | repeats by | seeds | {' | '.join(titles)}"
    return f"{_table(head, rows)}\n\n{_made(document)}"


def _cells(
    competitions: Iterable[Mapping[str, Any]],
    row: Mapping[str, Any],
    cell: Callable[[Mapping[str, Any]], str],
) -> list[str]:
    same = ("name", "judged_by")
    return [
        next((cell(o) for o in one["samplers"] if all(o[k] == row[k] for k in same)), "–")
        for one in competitions
    ]


def _order(one: Mapping[str, Any]) -> tuple[bool, bool]:
    """Return the place of a row: start-up first, then those with its rule, then the others."""
    return not str(one["name"]).startswith("start-up"), one["judged_by"] == "race"


def _name(one: Mapping[str, Any]) -> str:
    return f"{one['name']}{' *' if one['as_shipped'] else ''} | {one['judged_by']}"


def _table(head: str, rows: Sequence[str]) -> str:
    lines = [head, "|".join(["---"] * (head.count("|") + 1)), *rows]
    return "\n".join(f"| {line} |" if "---" not in line else f"|{line}|" for line in lines)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _made(document: Mapping[str, Any], seeds: int = 0) -> str:
    """Return how the figures were made."""
    made = document["made"]
    commands = dict.fromkeys(f"`{one['command']}` ({one['commit']})" for one in made)
    days = sorted({one["date"] for one in made})
    versions = ", ".join(
        f"{name} {made[-1][name]}" for name in ("numpy", "optuna", "torch") if name in made[-1]
    )
    start = f"{seeds} seed{'s' * (seeds > 1)} of each. " if seeds else ""
    return f"{start}Made on {', '.join(days)} by {'; '.join(commands)}; {versions}."


def _read(figures: Path, stem: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((figures / f"{stem}.json").read_text())
    return document


STEMS = ("start-up", "start-up-writer", "start-up-php")
TABLES: dict[str, Callable[[Path], str]] = {
    **{f"regrets:{stem}": partial(regrets, stem) for stem in STEMS},
    **{f"confirmations:{stem}": partial(confirmations, stem) for stem in STEMS},
    "made-up-rules": made_up,
    "whole-catalogue": whole_catalogue,
    "confirmation-noise": confirmation_noise,
}


def main() -> int:
    """Write the tables, or report whether they are up to date."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    args = parser.parse_args()
    text = PAGE.read_text()
    new = refreshed(text)
    if not args.check:
        PAGE.write_text(new)
    elif new != text:
        print(f"{PAGE} is out of date: python -m studies.tuning.tables", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
