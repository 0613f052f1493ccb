"""Use of predicted start-up seconds by window in a tuner."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import msgspec
import numpy as np

from foreread.analyzer.tuner.engines.surrogate import Floats
from foreread.analyzer.tuner.space.catalogue import WINDOW
from foreread.analyzer.tuner.space.genes import Allele, Chromosome, Gene, Space


def is_window(gene: Gene) -> bool:
    """Return whether this gene is the window, or one disk's window."""
    return gene.name.split(":")[0] == WINDOW


class Prediction:
    """Seconds by read_ahead_kb; interpolated between two predicted windows.

    An empty one expects the same of all windows.
    """

    def __init__(self, seconds: Mapping[int, float]) -> None:
        self._windows = sorted(seconds)
        self._seconds = [seconds[window] for window in self._windows]

    def seconds(self, window: Allele) -> float:
        """Return the seconds predicted for a window."""
        return float(np.interp(int(window), self._windows, self._seconds)) if self._windows else 1.0

    def pruned(self, space: Space, hopeless: float) -> Space:
        """Return the space without windows that cannot win; the default stays.

        A window cannot win if it is predicted to take ``hopeless`` (a share) more than the best
        one.
        """

        def keep(gene: Gene) -> Gene:
            limit = (1 + hopeless) * min(map(self.seconds, gene.alleles))
            hopeful = [a for a in gene.alleles if a == gene.default or self.seconds(a) <= limit]
            return msgspec.structs.replace(gene, choices=tuple(hopeful))

        genes = (keep(gene) if is_window(gene) else gene for gene in space.genes)
        return Space(tuple(genes), space.left_out)

    @property
    def known(self) -> bool:
        """Whether anything is predicted."""
        return bool(self._windows)

    def window(self, space: Space) -> dict[str, Allele]:
        """Return the predicted window of each window gene."""
        chosen: dict[str, Allele] = {}
        for gene in filter(is_window, space.genes):
            seconds = list(map(self.seconds, gene.alleles))
            chosen[gene.name] = gene.alleles[seconds.index(min(seconds))]
        return chosen if self._windows else {}

    def gains(self, space: Space, chromosomes: Sequence[Chromosome]) -> Floats:
        """Return the expected log fitness of chromosomes, 0 for the default."""
        windows = [gene for gene in space.genes if is_window(gene)]
        sums = np.zeros(len(chromosomes))
        for gene in windows:
            alleles = [chromosome[gene.name] for chromosome in chromosomes]
            gains = self._gains(gene, set(alleles))
            sums += [gains[allele] for allele in alleles]
        return sums / max(len(windows), 1)

    @classmethod
    def mean(cls, predictions: Sequence[Prediction], weights: Sequence[float]) -> Prediction:
        """Return the weighted geometric mean; that of one prediction is the prediction itself."""
        if len(predictions) == 1:
            return predictions[0]
        windows = sorted({kb for prediction in predictions for kb in prediction._windows})
        logs = [[math.log(prediction.seconds(kb)) for kb in windows] for prediction in predictions]
        means = np.exp(np.average(logs, axis=0, weights=weights)) if windows else np.zeros(0)
        return cls(dict(zip(windows, means.tolist(), strict=True)))

    def _gains(self, gene: Gene, alleles: Collection[Allele]) -> dict[Allele, float]:
        default = self.seconds(gene.default)
        return {allele: math.log(default / self.seconds(allele)) for allele in alleles}
