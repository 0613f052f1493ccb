"""When to stop paired runs at two windows: an interval that is valid at every look.

A pair is one cold run at each window, and d = ln(present) - ln(proposed). Two pairs make a block in
the order ABBA or BAAB, which a fair coin chooses: a machine that becomes slower or faster meanwhile
then adds nothing to the mean of a block. The interval of the mean of d is a *confidence sequence*:
with probability CONFIDENCE it covers the true mean at all looks at once, so that looking after each
block, and stopping as soon as something is seen, costs nothing. It inverts the scale-invariant
t-test with a normal prior of standard deviation PRIOR for the effect size (the g-prior of Zellner;
Rouder et al. 2009, equation 1). Its Bayes factor is a test martingale when the spread has the right
Haar prior, so Ville's inequality bounds the chance that it ever reaches 1 / (1 - CONFIDENCE): Lai
1976; Hendriksen, de Heide and Gruenwald 2021; Wang and Ramdas 2024, *Anytime-valid t-tests and
confidence sequences for Gaussian means with unknown variance*. With n pairs,
t = sqrt(n) (mean - m) / s and k = n PRIOR^2:

    B(m) = (1 + k)^(-1/2) ((1 + t^2/(n-1)) / (1 + t^2/((n-1)(1+k))))^(n/2) < 1 / (1 - CONFIDENCE)

The theorem is about Gaussian differences. tests/analyzer/confirm/test_sequential.py has the
rates of false confirmations, by simulation, of runs with other noise: heavy tails, two modes,
outliers, drift.

Pairs of several boards (boards.py) are one sequence, in the order in which they were handed out.
How fast a board is cancels within its pairs. Each board has blocks of its own, and at a look at
most a third of the pairs are first pairs of a block that is not whole: the drift of boards then
adds less to the mean than to the spread, which whole blocks show. Boards of unequal noise do no
harm: a t-test of differences with unequal variances rejects too seldom (Bakirov and Szekely 2005,
*Student's t-test for Gaussian scale mixtures*). Boards that gain differently widen the interval.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from foreread.tracer.formats.confirmation import Outcome

CONFIDENCE = 0.95
PRIOR = 5.0  # standard deviations of d: windows that matter differ by several
BLOCK = 2  # pairs
MOST_OPEN = 1 / 3  # of the pairs of several boards: first ones of a block that is not whole
FEWEST = 4  # pairs: fewer may be alike by chance, for instance where runs have two speeds
PRESENT, PROPOSED = 0, 1
TOO_SMALL = 0.01  # of the time, like the verdict's KEEP_PERCENT: less justifies no change
# Repeated starts of one boot of an emulated board differ by less than starts of two boots: their
# spread alone would understate the error.
_LEAST_SPREAD = 0.001
_CENTISECOND = 0.01  # the clock of a kernel without trace instances

Pair = tuple[float, float]


@dataclass(frozen=True)
class Assessment:
    """The result of the pairs: the share of the present time that the proposed window saves."""

    outcome: Outcome
    gain: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def decided(self) -> bool:
        """Whether the answer is final."""
        return self.outcome != "undecided"


def assess(pairs: Sequence[Pair], made_on: Sequence[int] = ()) -> Assessment:
    """Return the result of ``pairs`` of seconds (present, proposed) so far.

    *Too small*: the interval of the gain lies within TOO_SMALL about 0. *Confirmed*,
    *contradicted*: the interval lies above, below 0. Nothing is decided within a block.
    ``made_on``: the board of each pair, where there are several. Raises ValueError if a duration is
    not positive.
    """
    if any(not 0 < seconds < math.inf for pair in pairs for seconds in pair):
        raise ValueError("seconds of a run are positive numbers")
    gain, low, high = interval(pairs)
    outcome = outcome_of(low, high) if balanced(len(pairs), made_on) else "undecided"
    return Assessment(outcome, gain, low, high)


def balanced(pairs: int, made_on: Sequence[int]) -> bool:
    """Return whether enough pairs are in whole blocks of their board for a look."""
    if not made_on:
        return pairs % BLOCK == 0
    open_pairs = sum(on_board % BLOCK for on_board in Counter(made_on).values())
    return open_pairs <= MOST_OPEN * pairs


def interval(
    pairs: Sequence[Pair], confidence: float = CONFIDENCE
) -> tuple[float | None, float | None, float | None]:
    """Return the gain and the ends of its interval; None where it is not known yet."""
    if not pairs:
        return None, None, None
    differences = [math.log(present) - math.log(proposed) for present, proposed in pairs]
    middle = fmean(differences)
    width = half_width(differences, _resolution(pairs), confidence)
    if width is None:
        return _gain(middle), None, None
    return _gain(middle), _gain(middle - width), _gain(middle + width)


def orders(shuffler: random.Random) -> Iterator[tuple[int, int]]:
    """Yield which window of a pair runs first, pair after pair without end."""
    while True:
        first = (PRESENT, PROPOSED) if shuffler.random() < 0.5 else (PROPOSED, PRESENT)
        yield first
        yield first[1], first[0]


def half_width(
    differences: Sequence[float],
    least_spread: float = _LEAST_SPREAD,
    confidence: float = CONFIDENCE,
) -> float | None:
    """Return half the interval's width about the mean; None where it has no end yet."""
    n = len(differences)
    if n < FEWEST:
        return None
    mean = fmean(differences)
    variance = sum((difference - mean) ** 2 for difference in differences) / (n - 1)
    spread = max(math.sqrt(variance), least_spread)
    grown = 1 + n * PRIOR**2
    ratio = (math.sqrt(grown) / (1 - confidence)) ** (2 / n)
    if ratio >= grown:
        return None
    t_squared = (n - 1) * (ratio - 1) / (1 - ratio / grown)
    return spread * math.sqrt(t_squared / n)


def mean_seconds(pairs: Sequence[Pair]) -> tuple[float | None, float | None]:
    """Return the mean seconds at the present and at the proposed window; None without pairs."""
    if not pairs:
        return None, None
    present, proposed = zip(*pairs, strict=True)
    return fmean(present), fmean(proposed)


def outcome_of(low: float | None, high: float | None) -> Outcome:
    """Return the outcome of an interval of the gain; None: it has no end yet."""
    if low is None or high is None:
        return "undecided"
    if low >= -TOO_SMALL and high <= TOO_SMALL:
        return "too small"
    if low > 0:
        return "confirmed"
    return "contradicted" if high < 0 else "undecided"


def _gain(difference: float) -> float:
    """Return the share saved for a difference of logarithms."""
    return -math.expm1(-min(max(difference, -25.0), 700.0))


def _resolution(pairs: Sequence[Pair]) -> float:
    """Return the least spread of a difference that these clocks can show.

    Four time stamps, each rounded down to a hundredth of a second, give a difference an error
    of (0.01 s / sqrt(3)) in seconds.
    """
    seconds = [duration for pair in pairs for duration in pair]
    if any(abs(duration - round(duration, 2)) > 1e-6 for duration in seconds):
        return _LEAST_SPREAD
    return max(_LEAST_SPREAD, _CENTISECOND / math.sqrt(3) / min(seconds))
