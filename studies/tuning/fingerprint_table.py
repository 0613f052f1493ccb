"""Measure every chromosome of the fingerprints' space under every workload, on an emulated board.

What is measured is a line of the raw file, in random order; what is stopped goes on where it was.
Guest time repeats, so that each is measured once.

    python -m studies.tuning.fingerprint_table [--minutes N]
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from foreread.analyzer.tuner.space.genes import Allele, Chromosome
from studies.tuning.fingerprint_trials import SPACE, WORKLOADS, Measured, Trials, as_line, of_line

RAW = Path(__file__).parent / "raw/workloads.jsonl"
_SEED = 5

Key = tuple[str, tuple[Allele, ...]]


class Table:
    """The measured landscape; raises ValueError for one that lacks a chromosome."""

    def __init__(self, measured: Sequence[Measured]) -> None:
        self._cells = {_key(cell.workload, cell.chromosome): cell for cell in measured}
        if missing := len(todo(self._cells)):
            raise ValueError(f"{missing} trials are not made yet: fingerprint_table.py goes on")

    def run(self, workload: str, chromosomes: Sequence[Chromosome]) -> list[Measured]:
        """Return the measurements of each chromosome."""
        return [self._cells[_key(workload, chromosome)] for chromosome in chromosomes]

    def of(self, workload: str) -> list[Measured]:
        """Return all of a workload."""
        return [cell for cell in self._cells.values() if cell.workload == workload]

    def best(self, workload: str) -> Measured:
        """Return the chromosome under which most is done."""
        return max(self.of(workload), key=lambda cell: cell.rate)

    def default(self, workload: str) -> Measured:
        """Return the default's."""
        return self.run(workload, [SPACE.default()])[0]

    def described(self, workload: str) -> dict[str, object]:
        """Return the truth: the best, the worst, and the mean effect of each gene."""
        every, best = self.of(workload), self.best(workload)
        rates = [cell.rate for cell in every]
        return {
            "fingerprints": Counter(str(cell.snapshot.fingerprint()) for cell in every),
            "fingerprints_published": Counter(
                str(cell.snapshot.fingerprint(published=True)) for cell in every
            ),
            "default_rate": self.default(workload).rate,
            "best_rate": best.rate,
            "best": dict(best.chromosome),
            "worst_of_best": min(rates) / best.rate,
            "within_5_percent": fmean(rate >= 0.95 * best.rate for rate in rates),
            "effects": {name: self._effect(workload, name) for name in SPACE.names},
        }

    def _effect(self, workload: str, gene: str) -> float:
        """Return between which allele's mean rate and which the gene makes the most difference."""
        rates: dict[Allele, list[float]] = {}
        for cell in self.of(workload):
            rates.setdefault(cell.chromosome[gene], []).append(cell.rate)
        means = [fmean(some) for some in rates.values()]
        return 1 - min(means) / max(means)


def read_raw(path: Path = RAW) -> list[Measured]:
    """Return the trials in the raw file; a line that was not ended is none."""
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return [of_line(json.loads(line)) for line in lines]


def todo(measured: Mapping[Key, Measured]) -> list[tuple[str, Chromosome]]:
    """Return the missing measurements, in an order that no drift could favour."""
    everything = [(name, chromosome) for name in WORKLOADS for chromosome in SPACE.enumerate()]
    random.Random(_SEED).shuffle(everything)
    return [
        (name, chromosome)
        for name, chromosome in everything
        if _key(name, chromosome) not in measured
    ]


def _key(workload: str, chromosome: Chromosome) -> Key:
    return workload, SPACE.key(chromosome)


def missing_trials() -> list[tuple[str, Chromosome]]:
    """Return what the raw file lacks."""
    return todo({_key(cell.workload, cell.chromosome): cell for cell in read_raw()})


def main() -> None:
    """Make the missing measurements."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so many")
    args = parser.parse_args()
    end = time.monotonic() + args.minutes * 60
    with Trials() as trials:
        while time.monotonic() < end and (pending := missing_trials()):
            measured = trials.run(*pending[0])
            with RAW.open("a") as raw:
                raw.write(json.dumps(as_line(measured)) + "\n")
            print(f"{len(pending) - 1} left", flush=True)


if __name__ == "__main__":
    main()
