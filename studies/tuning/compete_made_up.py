"""Competition of samplers on any number of made-up landscapes: made_up.py.

    python -m studies.tuning.compete_made_up [--first N] [--landscapes N] [--seeds N]
        [--only NAME,…] [-o FILE]

As in compete.py each sampler runs in a campaign as it would on a board, once with the race and once
with the rule of start-up, all runs are counted, and regret is that of the campaign's believed best.
The recipe start-up is given the prediction that the landscape has, if any, be it right or
misleading. For each group of landscapes the table has the share of searches that are within 2 % of
the optimum after 10 % of the runs, and the mean regret. FILE is written after each landscape.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from boards.document import SCHEMA
from studies.tuning.competition import compete
from studies.tuning.contestants import EVERY, OURS, Contestant
from studies.tuning.made_up import KINDS, NOISES, PREDICTIONS, MadeUp, made_up
from studies.tuning.provenance import made

WITHOUT = ("exhaustive", "gaussian-process")  # one finds nothing early, the other takes a day
CONTESTANTS = (
    OURS[0],
    *(one for one in EVERY if one not in OURS and one.recipe not in WITHOUT),
)
SHARES = (0.05, 0.1)  # of the runs that measuring everything took
CLOSE = 0.02  # of the optimum's time
MOST = 9 / 10  # of the seeds
EQUAL = 0.001  # of the optimum's time: what is taken for no worse


@dataclass(frozen=True)
class Outcome:
    """What became of all samplers on one landscape: regrets by name and share, one for a seed."""

    landscape: dict[str, Any]
    regrets: dict[str, dict[str, list[float]]]

    def of(self, name: str) -> list[float]:
        """Return a sampler's regrets after the largest share."""
        return self.regrets[name][str(SHARES[-1])]

    def close(self, name: str) -> float:
        """Return the share of seeds that came close."""
        return fmean(regret <= CLOSE for regret in self.of(name))


def title(one: Contestant) -> str:
    """Return a contestant's name here, where not every landscape has a prediction."""
    return f"{one.recipe} ({one.judged_by})"


def outcome(found: MadeUp, contestants: Sequence[Contestant], seeds: Sequence[int]) -> Outcome:
    """Let them compete on one landscape."""
    at = {share: round(share * found.runs_exhaustive) for share in SHARES}
    space = found.landscape.space
    engines = {title(one): one.engines(space, found.predicted) for one in contestants}
    curves = compete(found.landscape, engines, seeds, max(at.values()))
    regrets = {
        curve.name: {
            str(share): [round(float(one), 6) for one in curve.regrets[:, runs - 1]]
            for share, runs in at.items()
        }
        for curve in curves
    }
    described = {
        "number": found.number,
        "kind": found.kind,
        "noise": found.noise,
        "heavy": found.heavy,
        "prediction": found.prediction,
        "points": found.landscape.points,
        "runs_exhaustive": found.runs_exhaustive,
    }
    return Outcome(described, regrets)


def table(outcomes: Sequence[Outcome], names: Sequence[str]) -> str:
    """Return shares and mean regrets by group of landscapes as a table in Markdown."""
    groups = {"all": list(outcomes)}
    for key, values, title in (
        ("kind", KINDS, "{}"),
        ("noise", NOISES, "noise of {:.1%}"),
        ("prediction", PREDICTIONS, "prediction: {}"),
    ):
        for value in values:
            groups[title.format(value)] = [one for one in outcomes if one.landscape[key] == value]
    groups["heavy tails"] = [one for one in outcomes if one.landscape["heavy"]]
    lines = [f"| landscapes | | {' | '.join(names)} |", "|---" * (len(names) + 2) + "|"]
    for title, some in groups.items():
        if some:
            lines.append(f"| {title} | {len(some)} | {' | '.join(_cell(some, n) for n in names)} |")
    return "\n".join(lines)


def _cell(some: Sequence[Outcome], name: str) -> str:
    close = fmean(one.close(name) for one in some)
    # Where a search ended on a cliff, how high that is does not matter.
    regret = fmean(min(regret, 1.0) for one in some for regret in one.of(name))
    return f"{100 * close:.0f} %, {100 * regret:.1f} %"


def aims(outcomes: Sequence[Outcome], names: Sequence[str]) -> dict[str, Any]:
    """Return in how many landscapes nine of ten seeds come close, and the first is no worse."""
    ours, *others = names
    return {
        "landscapes": len(outcomes),
        "close_in_nine_of_ten": {
            name: sum(one.close(name) >= MOST for one in outcomes) for name in names
        },
        "median_no_worse_than": {
            name: sum(median(one.of(ours)) <= median(one.of(name)) + EQUAL for one in outcomes)
            for name in others
        },
    }


def main() -> int:
    """Let them compete on each landscape; print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--first", type=int, default=48, metavar="N", help="number (48)")
    parser.add_argument("--landscapes", type=int, default=48, metavar="N", help="how many (48)")
    parser.add_argument("--seeds", type=int, default=10, metavar="N")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="JSON of all figures")
    parser.add_argument("--only", default="", metavar="RECIPE,…", help="these rows (default: all)")
    args = parser.parse_args()
    only = args.only.split(",") if args.only else [one.recipe for one in CONTESTANTS]
    some = [one for one in CONTESTANTS if one.recipe in only]
    names, how, found = [title(one) for one in some], made(), list[Outcome]()
    for number in range(args.first, args.first + args.landscapes):
        found.append(outcome(made_up(number), some, range(args.seeds)))
        print(f"\r{len(found)}/{args.landscapes}", end="", file=sys.stderr, flush=True)
        if args.output:
            each = [one.landscape | one.regrets for one in found]
            document = {"schema": SCHEMA, "made": [how], "seeds": args.seeds}
            document |= {**aims(found, names), "found": each}
            args.output.write_text(json.dumps(document) + "\n")
    print(f"\n{table(found, names)}\n\n{json.dumps(aims(found, names))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
