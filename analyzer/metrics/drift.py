"""Whether a start has become slower over many commits, by less each time than a comparison shows.

The test asks whether the seconds of a start are in random order. If they are, the rank of the n-th
entry among the first n is uniform on 1 … n and independent of all earlier ranks, whatever the
distribution of the noise. A bet on high ranks therefore has the expected factor 1 at each entry,
and its capital is a test martingale: with probability 1 - ALARM it never reaches 1 / ALARM, however
often one looks (Ville's inequality; Vovk, Nouretdinov and Gammerman 2003, *Testing exchangeability
on-line*). The factor for rank r (1: the slowest) is (r - 1/2)^(-1/2), divided by its mean over
1 … n. A part 1 / (k (k + 1)) of the capital begins its bets at entry k: a drift after many quiet
entries is found as soon as one after a few.

Ranks show that there is a drift, not how large it is: it is reported from TOO_SMALL on. The order
is not random if noise lasts over several entries, as of a machine that is slow for a day: then it
alarms more often (studies/drift has the rates).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from foreread.analyzer.confirm.sequential import CONFIDENCE, TOO_SMALL

ALARM = 1 - CONFIDENCE
_ENDS = 5  # entries at either end, whose medians are compared


@dataclass(frozen=True)
class Drift:
    """What a series of seconds shows.

    ``old`` and ``new`` are the medians of its first and last ``ends`` entries, ``alarm`` is the
    place of the entry at which the order was no longer random; None: it may be random.
    """

    old: float
    new: float
    ends: int
    alarm: int | None

    @property
    def share(self) -> float:
        """How much longer the start takes now, as a share of the first seconds."""
        return self.new / self.old - 1 if self.old else 0.0

    @property
    def is_significant(self) -> bool:
        """Whether the start has drifted, and by enough to report it."""
        return self.alarm is not None and self.share >= TOO_SMALL


def drift(seconds: Sequence[float], series: int = 1) -> Drift:
    """Return the drift of at least one value; ``series``: how many are tested together."""
    level = series / ALARM  # Bonferroni
    alarm = next((at for at, value in enumerate(evidence(seconds)) if value >= level), None)
    ends = min(_ENDS, (len(seconds) + 1) // 2)
    return Drift(median(seconds[:ends]), median(seconds[-ends:]), ends, alarm)


def evidence(seconds: Sequence[float]) -> Iterator[float]:
    """Yield the capital after each entry; its expectation is 1 in random order."""
    earlier: list[float] = []
    capital, factors = 0.0, 0.0
    for n, value in enumerate(seconds, 1):
        rank = len(earlier) - bisect_left(earlier, value) + 1  # of equal ones, the last
        insort(earlier, value)
        factors += (n - 0.5) ** -0.5
        capital = (capital + 1 / (n * (n + 1))) * (rank - 0.5) ** -0.5 / (factors / n)
        yield capital + 1 / (n + 1)
