"""The expected fitness of chromosomes before any run: by the prediction, by an earlier campaign.

The prediction is for an otherwise idle machine. It says little about the best window in other
scenarios, so almost nothing of it is expected there. The model learns from the runs how far to
trust each source, the prediction in each scenario separately (surrogate.py: the slopes).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from foreread.analyzer.tuner.engines.earlier import Earlier, Expectation
from foreread.analyzer.tuner.engines.predicted import Prediction
from foreread.analyzer.tuner.engines.surrogate import Floats
from foreread.analyzer.tuner.space.genes import Chromosome, Space

IDLE = "idle"
ELSEWHERE = 0.25  # of the predicted gain, expected under a load


def is_idle(scenario: str) -> bool:
    """Return whether nothing else runs in a scenario."""
    return scenario.partition(":")[0] == IDLE


class Expected:
    """The log fitness that each source expects of chromosomes."""

    def __init__(
        self, space: Space, prediction: Prediction, earlier: Earlier | None, seed: int
    ) -> None:
        self._space, self._prediction = space, prediction
        self._earlier: Callable[[Sequence[Chromosome]], Floats] | None = None
        if earlier is not None:
            self._earlier = Expectation(earlier, seed).gains

    def of(
        self, chromosomes: Sequence[Chromosome], scenarios: Sequence[str]
    ) -> tuple[Floats, Floats]:
        """Return ``expected`` and ``before`` of Points."""
        predicted = self._prediction.gains(self._space, chromosomes)
        count = len(scenarios)
        shares = np.array([1.0 if is_idle(scenario) else ELSEWHERE for scenario in scenarios])
        expected = predicted[:, None, None] * np.eye(count)
        before = predicted[:, None] * shares
        if self._earlier is not None:
            gains = self._earlier(chromosomes)
            ones = np.broadcast_to(gains[:, None, None], (len(gains), count, 1))
            expected = np.concatenate([expected, ones], axis=2)
            before = (before + gains[:, None]) / (2 if self._prediction.known else 1)
        return expected, before
