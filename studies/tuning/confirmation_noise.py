"""Which noise a confirmation should use: false and lost savings on landscapes whose truth is known.

    python -m studies.tuning.confirmation_noise [--seeds N] [--made-up N] [-o FILE]
    python -m studies.tuning.confirmation_noise --campaigns N [--made-up N] [-o FILE]

A winner is confirmed as ``foreread tune`` confirms it, once with the noise of each chromosome
(``own``: what foreread does) and once with that of all of them (``pooled``: what it did before), by
runs that are the same for both. Winners are the optimum, the best of a short search by chance, and
chromosomes that truly save nothing, close to the default in time. A saving that is shown is *false*
if the confirmed chromosome truly takes no less than the default. One is *lost* if the winner truly
saves more than is negligible, and none is shown.

With --campaigns N such campaigns are simulated by the noise of each chromosome alone, on the
landscapes in turn, the winners of short searches and the useless ones: in how many is a saving
shown that is false, or a gene listed as proven alone that truly saves nothing?
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any, Literal

from foreread.analyzer.tuner.engines import operators
from foreread.analyzer.tuner.engines.racing import NEGLIGIBLE
from foreread.analyzer.tuner.evaluation import key_of
from foreread.analyzer.tuner.findings.compare import Run, Runs
from foreread.analyzer.tuner.findings.confirm import ProvenGenes, confirm
from foreread.analyzer.tuner.findings.effects import Effects, main_effects
from foreread.analyzer.tuner.findings.noise import Noise
from foreread.analyzer.tuner.space.genes import Chromosome
from foreread.boards.base.document import SCHEMA
from studies.tuning.competition import Ground
from studies.tuning.made_up import made_up
from studies.tuning.provenance import made
from studies.tuning.starts import landscape_of, lines_of, scenarios_in, usual_sets
from studies.tuning.whole_catalogue import WholeCatalogue

MEASURED = ("start-up", "start-up-writer", "start-up-php")
SEARCHED = 40  # chromosomes of a search by chance
CATALOGUE = 6  # landscapes of all genes
FIRST = 48  # number of the first made-up landscape
TRIES = 1000  # draws for chromosomes that save nothing
USELESS = 20  # of them, of which the fastest is taken
Rule = Literal["own", "pooled"]
Winner = Literal["optimum", "searched", "useless"]


@dataclass
class Pooled(Runs):
    """Runs whose comparisons take the noise of a scenario from all chromosomes in it."""

    def noise_of(self, scenario: str, logs: Sequence[float]) -> Noise | None:
        """Return the noise of all repeats."""
        return self.pooled(scenario)


RULES: dict[Rule, Callable[[Sequence[Run]], Runs]] = {"own": Runs, "pooled": Pooled}


@dataclass
class Counts:
    """The results of the confirmations by one rule."""

    confirmations: int = 0
    shown: int = 0
    false: int = 0
    lost: int = 0
    runs: int = 0
    regrets: list[float] = field(default_factory=list)

    def row(self) -> dict[str, float]:
        """Return the figures; ``regret`` is the mean, where a cliff counts as 1."""
        counts = {name: getattr(self, name) for name in ("confirmations", "shown", "false", "lost")}
        return {
            **counts,
            "runs": self.runs / max(self.confirmations, 1),
            "regret": fmean(min(regret, 1.0) for regret in self.regrets or [0.0]),
        }


class Runner:
    """Makes runs on a landscape; the n-th of a chromosome is the same for the same seed."""

    def __init__(self, ground: Ground, seed: int) -> None:
        self._ground, self._seed = ground, seed

    def runs(self, chromosome: Chromosome, numbers: Iterable[int]) -> Iterator[Run]:
        """Yield runs in every scenario."""
        for number in numbers:
            for scenario in self._ground.scenarios:
                self._ground.reseed(1000 * self._seed + number)
                value = self._ground.evaluate(chromosome, scenario).value
                assert value is not None, "every point has runs"
                yield Run(chromosome, scenario, value)


def confirmed(
    ground: Ground, winner: Chromosome, effects: Effects, seed: int, rule: Rule
) -> tuple[ProvenGenes, int]:
    """Return a winner as confirmed by a rule, and how many runs that took."""
    runner, made_runs = Runner(ground, seed), list[Run]()
    while True:
        runs = RULES[rule](made_runs)
        proof = confirm(ground.space, effects, winner, runs, ground.scenarios)
        if not proof.to_run:
            return proof, len(made_runs)
        for needed in proof.to_run:
            made_before = runs.count(needed.chromosome, ground.scenarios)
            made_runs += runner.runs(needed.chromosome, range(made_before, needed.runs))


def winner_of(
    kind: Winner, ground: Ground, optimum: Chromosome, seed: int
) -> tuple[Chromosome, Effects] | None:
    """Return a chromosome to confirm, and the effects of a search; None if all save."""
    rng, default = Random(f"{kind}/{seed}"), ground.space.default()
    drawn = (operators.random_child(ground.space, rng) for _ in range(TRIES))
    searched = [default, *(next(drawn) for _ in range(SEARCHED))]
    runner = Runner(ground, -1 - seed)  # not the runs of the confirmation
    runs = Runs([run for chromosome in searched for run in runner.runs(chromosome, range(1))])
    effects = main_effects(runs, ground.space)
    if kind == "optimum":
        return optimum, effects
    if kind == "searched":
        best = min(searched, key=lambda chromosome: _log_cost(runs, chromosome, ground.scenarios))
        return best, effects
    useless = (
        chromosome
        for chromosome in drawn
        if _saving(ground, chromosome) <= 0 and key_of(chromosome) != key_of(default)
    )
    some = list(islice(useless, USELESS))
    return (min(some, key=ground.regret), effects) if some else None


def _log_cost(runs: Runs, chromosome: Chromosome, scenarios: Sequence[str]) -> float:
    change = runs.change(chromosome, runs.chromosomes[0])
    assert change is not None, f"each was run in {', '.join(scenarios)}"
    return change.effect


def _saving(ground: Ground, chromosome: Chromosome) -> float:
    """Return the true saving over the default, in parts of the default's time."""
    return 1 - (1 + ground.regret(chromosome)) / (1 + ground.regret(ground.space.default()))


def counted(
    ground: Ground, optimum: Chromosome, kind: Winner, seeds: Sequence[int]
) -> dict[Rule, Counts]:
    """Return the results of confirming winners of a kind, by both rules."""
    counts: dict[Rule, Counts] = {rule: Counts() for rule in RULES}
    for seed in seeds:
        drawn = winner_of(kind, ground, optimum, seed)
        for rule, count in counts.items() if drawn else ():
            assert drawn is not None
            _count(ground, drawn, seed, rule, count)
    return counts


def _count(
    ground: Ground, drawn: tuple[Chromosome, Effects], seed: int, rule: Rule, count: Counts
) -> None:
    winner, effects = drawn
    proof, runs = confirmed(ground, winner, effects, seed, rule)
    shown = proof.over_default is not None and proof.over_default.saves
    count.confirmations += 1
    count.runs += runs
    count.shown += shown
    count.false += shown and _saving(ground, proof.chromosome) <= 0
    count.lost += not shown and _saving(ground, winner) > NEGLIGIBLE
    count.regrets.append(ground.regret(proof.chromosome))


def simulated(
    count: int, landscapes: Sequence[tuple[str, Ground, Chromosome]]
) -> dict[Winner, dict[str, int]]:
    """Return how many campaigns of each kind of winner showed what is false, of ``count`` in all.

    Landscapes take turns, and each turn is another seed; the kinds have equal parts.
    """
    kinds: tuple[Winner, ...] = ("searched", "useless")
    counts = {
        kind: dict.fromkeys(("campaigns", "shown", "false", "genes", "false_genes"), 0)
        for kind in kinds
    }
    turns = (
        (seed, kind, ground, best)
        for seed in range(count)
        for _, ground, best in landscapes
        for kind in kinds
    )
    for seed, kind, ground, best in turns:
        if sum(each["campaigns"] for each in counts.values()) == count:
            break
        if drawn := winner_of(kind, ground, best, seed):
            _count_campaign(ground, drawn, seed, counts[kind])
    return counts


def _count_campaign(
    ground: Ground, drawn: tuple[Chromosome, Effects], seed: int, count: dict[str, int]
) -> None:
    confirmed_one, _ = confirmed(ground, *drawn, seed, "own")
    chromosome, change = confirmed_one.chromosome, confirmed_one.over_default
    shown = change is not None and change.saves
    alone = [gain for gain in confirmed_one.gains if gain.alone]
    resets = [ground.space.repair({**chromosome, gain.gene: gain.default}) for gain in alone]
    useless = [reset for reset in resets if ground.regret(reset) <= ground.regret(chromosome)]
    count["campaigns"] += 1
    count["shown"] += shown
    count["false"] += shown and _saving(ground, chromosome) <= 0
    count["genes"] += len(alone)
    count["false_genes"] += len(useless)


def grounds(made_up_ones: int) -> Iterator[tuple[str, Ground, Chromosome]]:
    """Yield every landscape by name, with its optimum."""
    for stem in MEASURED:
        lines = lines_of(stem)
        for chosen in usual_sets(scenarios_in(lines)):
            landscape = landscape_of(lines, chosen)
            yield f"{stem}: {', '.join(chosen)}", landscape, landscape.optimum
    for number in range(FIRST, FIRST + made_up_ones):
        synthetic = made_up(number)
        heavy = ", heavy tails" * synthetic.heavy
        landscape = synthetic.landscape
        yield f"made up {number}: {synthetic.kind}{heavy}", landscape, landscape.optimum
    for number in range(CATALOGUE):
        whole = WholeCatalogue(number)
        yield f"whole catalogue {number}", whole, whole.optimum


def line_of(row: Mapping[str, Any]) -> str:
    """Return a row as text."""
    of = ", ".join(
        f"{rule}: {row[rule]['false']} false, {row[rule]['lost']} lost of"
        f" {row[rule]['confirmations']}, regret {100 * row[rule]['regret']:.1f} %"
        for rule in RULES
    )
    return f"{row['landscape']}, {row['winner']}: {of}"


def main() -> int:
    """Confirm the winners on every landscape; print a line for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=20, metavar="N", help="of each (20)")
    parser.add_argument("--made-up", type=int, default=48, metavar="N", help="landscapes (48)")
    parser.add_argument("--campaigns", type=int, metavar="N", help="simulate N, and no more")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="JSON of all figures")
    args = parser.parse_args()
    if args.campaigns:
        made_ones = simulated(args.campaigns, list(grounds(args.made_up)))
        text = json.dumps({"schema": SCHEMA, "made": [made()], "simulated": made_ones}, indent=1)
        print(text)
        if args.output:
            args.output.write_text(text + "\n")
        return 0
    figures: list[dict[str, Any]] = []
    document = {"schema": SCHEMA, "made": [made()], "seeds": args.seeds, "found": figures}
    for name, ground, optimum in grounds(args.made_up):
        for kind in ("optimum", "searched", "useless"):
            counts = counted(ground, optimum, kind, range(args.seeds))
            rows: dict[str, Any] = {rule: count.row() for rule, count in counts.items()}
            if counts["own"].confirmations:
                figures.append({"landscape": name, "winner": kind, **rows})
                print(line_of(figures[-1]), flush=True)
        if args.output:
            args.output.write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
