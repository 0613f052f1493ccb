"""How slow the processor computes after a wait, from the rounds of the capture's probe.

Computing of L ns with warm caches takes min(L, T) · s longer after a wait: T (``cold_ns``) and s
(``cold_share``) are fitted to what the probe's own computing takes longer, by least squares at
lengths that are spread evenly over their logarithm. No start takes part in the fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foreread.analyzer.ingest.tables import Array
from foreread.tracer.formats.disk_probe import Computing

_LENGTHS = 12
_SHORTEST = 1 / 64  # in parts of a round
_CANDIDATES = 64  # of T


@dataclass(frozen=True, eq=False)
class ColdSamples:
    """What pieces of computing take longer after a wait.

    ``warm_ns`` and ``more_ns`` (rounds × pieces) are in the order of execution; ``kinds`` has the
    same rows and columns: numbers of what each piece does.
    """

    warm_ns: Array
    more_ns: Array
    kinds: Array

    def cost(self, rng: np.random.Generator | None = None) -> tuple[float, float]:
        """Return T (ns) and s; with ``rng`` for rounds, and one kind, drawn at random.

        What a start computes may be like any of the kinds: s is multiplied by the ratio of a
        random kind's share to that of all.
        """
        rows = np.arange(len(self.warm_ns))
        if rng is None:
            return fitted(*self._curve(rows))
        cold_ns, share = fitted(*self._curve(rng.integers(0, len(rows), len(rows))))
        ratios = self._ratios(cold_ns)
        return cold_ns, share * float(ratios[rng.integers(len(ratios))])

    def _curve(self, rows: Array) -> tuple[Array, Array]:
        """Return lengths of computing with warm caches, and the median of what they take longer."""
        warm, more = (np.cumsum(part[rows], axis=1) for part in (self.warm_ns, self.more_ns))
        most = float(np.median(warm[:, -1]))
        lengths = np.geomspace(_SHORTEST * most, most, _LENGTHS)
        longer = [
            np.interp(lengths, np.append(0.0, ns), np.append(0.0, row))
            for ns, row in zip(warm, more, strict=True)
        ]
        return lengths, np.asarray(np.median(longer, axis=0))

    def _ratios(self, cold_ns: float) -> Array:
        """Return each kind's share, within ``cold_ns`` after a wait, in parts of that of all."""
        early = np.cumsum(self.warm_ns, axis=1) <= max(cold_ns, float(self.warm_ns[:, 0].max()))
        warm = np.bincount(self.kinds[early], self.warm_ns[early])
        more = np.bincount(self.kinds[early], self.more_ns[early])
        of_all = more.sum() / warm.sum()
        if of_all <= 0:
            return np.ones(1)
        return np.asarray(np.maximum(more[warm > 0] / warm[warm > 0] / of_all, 0.0))


def fitted(lengths: Array, longer: Array) -> tuple[float, float]:
    """Return T (ns) and s of computing that takes min(``lengths``, T) · s = ``longer``."""
    best = 0.0, 0.0, float(longer @ longer)
    for cold_ns in np.geomspace(lengths[0], lengths[-1], _CANDIDATES).tolist():
        slow = np.minimum(lengths, cold_ns)
        share = max(float(slow @ longer / (slow @ slow)), 0.0)
        rest = longer - share * slow
        if float(rest @ rest) < best[2]:
            best = cold_ns, share, float(rest @ rest)
    return best[:2]


def cold_samples(computing: Computing | None) -> ColdSamples | None:
    """Return what a probe's computing shows; None without it, or where the clock is too coarse."""
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
    return ColdSamples(warm, cold - warm, kinds)
