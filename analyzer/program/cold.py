"""How slowly the processor computes after a wait, from the rounds of the capture's probe.

Computing of L ns with warm caches takes min(L, T) · s longer after a wait: T (``cold_ns``) and s
(``cold_share``) are fitted to what the probe's own computing takes longer, by least squares at
lengths that are spread evenly over their logarithm. No start takes part in the fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from foreread.analyzer.ingest.tables import Array
from foreread.tracer.formats.disk_probe import Computing

_LENGTHS = 12
_SHORTEST = 1 / 64  # in parts of a round
_CANDIDATES = 64  # of T
# A probe that shows more was disturbed: no computing is ten times as slow for that long.
_MOST_SHARE, _MOST_NS = 10.0, 1e9


@dataclass(frozen=True, eq=False)
class ColdSamples:
    """What pieces of computing take longer after a wait.

    ``warm_ns`` and ``more_ns`` (rounds × pieces) are in the order of execution; ``kinds`` has the
    same rows and columns: the number of each piece's kind.
    """

    warm_ns: Array
    more_ns: Array
    kinds: Array

    def cost(self, rng: np.random.Generator | None = None) -> tuple[float, float]:
        """Return T (ns) and s; with ``rng`` for rounds, and one kind, drawn at random.

        The computing of a start may be like any of the kinds: s is multiplied by the ratio of a
        random kind's share to that of all.
        """
        if rng is None:
            return fitted(self._lengths, np.median(self._longer, axis=0))
        rows = rng.integers(0, len(self._longer), len(self._longer))
        cold_ns, share = fitted(self._lengths, np.median(self._longer[rows], axis=0))
        ratio = float(self._ratios[rng.integers(len(self._ratios))])
        return cold_ns, min(share * ratio, _MOST_SHARE)

    @cached_property
    def _lengths(self) -> Array:
        """Lengths of computing with warm caches (ns)."""
        most = float(np.median(self.warm_ns.sum(axis=1)))
        return np.asarray(np.geomspace(_SHORTEST * most, most, _LENGTHS))

    @cached_property
    def _longer(self) -> Array:
        """What each round takes longer, up to each of the lengths (rounds × lengths, ns)."""
        warm, more = (np.cumsum(part, axis=1) for part in (self.warm_ns, self.more_ns))
        longer = [
            np.interp(self._lengths, np.append(0.0, ns), np.append(0.0, row))
            for ns, row in zip(warm, more, strict=True)
        ]
        return np.array(longer)

    @cached_property
    def _ratios(self) -> Array:
        """Each kind's share, while the caches are cold, in parts of that of all."""
        begun = np.cumsum(self.warm_ns, axis=1) - self.warm_ns < self.cost()[0]
        warm = np.bincount(self.kinds[begun], self.warm_ns[begun])
        more = np.bincount(self.kinds[begun], self.more_ns[begun])
        if more.sum() <= 0:
            return np.ones(1)
        shares = more[warm > 0] / warm[warm > 0]
        return np.asarray(np.maximum(shares * warm.sum() / more.sum(), 0.0))


def fitted(lengths: Array, longer: Array) -> tuple[float, float]:
    """Return T (ns) and s of computing that takes min(``lengths``, T) · s = ``longer``."""
    candidates = np.geomspace(lengths[0], lengths[-1], _CANDIDATES)
    slow = np.minimum(lengths, candidates[:, np.newaxis])
    shares = np.maximum(slow @ longer / (slow * slow).sum(axis=1), 0.0)
    rest = longer - shares[:, np.newaxis] * slow
    best = int((rest * rest).sum(axis=1).argmin())
    return float(candidates[best]), float(shares[best])


def cold_samples(computing: Computing | None) -> ColdSamples | None:
    """Return what a probe's computing shows.

    None without it, where the clock is too coarse for a piece, and where the probe was disturbed.
    """
    if computing is None:
        return None
    names = sorted(set(computing.kinds))
    numbers = np.array([names.index(kind) for kind in computing.kinds])
    warm, cold = (
        np.array([getattr(each, name) for each in computing.rounds], np.float64)
        for name in ("warm_ns", "cold_ns")
    )
    if not (warm > 0).all():
        return None
    kinds = np.array([np.roll(numbers, -each.first) for each in computing.rounds])
    samples = ColdSamples(warm, cold - warm, kinds)
    cold_ns, share = samples.cost()
    return samples if cold_ns <= _MOST_NS and share <= _MOST_SHARE else None
