"""The results that a campaign passes to a later one on a like board (engines/earlier.py)."""

from __future__ import annotations

import math

import numpy as np

from foreread.analyzer.error import AnalyzerError
from foreread.analyzer.tuner.engines.earlier import FOUNDERS, MOST, Earlier, Measured
from foreread.analyzer.tuner.engines.start_up import FAR
from foreread.analyzer.tuner.evaluation import chromosome_of
from foreread.analyzer.tuner.findings.results import Results
from foreread.analyzer.tuner.space.genes import Chromosome


class EarlierError(AnalyzerError, ValueError):
    """A campaign that cannot be the beginning of another; ``remedy`` says what to do."""


def earlier_of(results: Results) -> Earlier:
    """Return the results of a campaign; raises EarlierError if it has no good run.

    Refused chromosomes count as ``FAR`` worse than the best, as in the search. With more than MOST
    chromosomes, the best half of MOST is kept, and others at even distances.
    """
    standings = results.standings
    gains = {key: standings.gain(key) for key in standings.chromosomes()}
    good = [gain for gain in gains.values() if math.isfinite(gain)]
    if not good:
        raise EarlierError(
            "the earlier campaign has no good run",
            "begin without --from, or give the file of a campaign that has measured something",
        )
    least = max(good) - FAR
    keys = _thinned(sorted(gains, key=gains.__getitem__, reverse=True))
    names = results.space.names
    runs = {key: standings.gains(key) for key in keys if math.isfinite(gains[key])}
    return Earlier(
        board=results.spec.board.name,
        attempts=standings.attempts,
        genes=list(results.space.genes),
        measured=[
            Measured(
                _alleles(chromosome_of(key), names),
                max(len(runs.get(key, ())), 1),
                max(float(np.mean(runs[key])) if key in runs else least, least),
            )
            for key in keys
        ],
        best=[_alleles(chromosome, names) for chromosome in _best(results)],
        squares=sum(float(np.var(some) * len(some)) for some in runs.values()),
    )


def _best(results: Results) -> list[Chromosome]:
    """Return the confirmed settings, and the best of the search."""
    first = [results.confirmed.chromosome] if results.confirmation else []
    ranked = map(chromosome_of, results.standings.ranking())
    chromosomes: list[Chromosome] = []
    for chromosome in (*first, *ranked):
        if chromosome not in chromosomes and chromosome != results.space.default():
            chromosomes.append(chromosome)
    return chromosomes[:FOUNDERS]


def _thinned(ranked: list[str]) -> list[str]:
    if len(ranked) <= MOST:
        return ranked
    best, rest = ranked[: MOST // 2], ranked[MOST // 2 :]
    places = np.linspace(0, len(rest) - 1, MOST - len(best)).astype(int)
    return [*best, *(rest[place] for place in places)]


def _alleles(chromosome: Chromosome, names: tuple[str, ...]) -> list[str | int]:
    return [chromosome[name] for name in names]
