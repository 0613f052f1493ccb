"""The expected fitness of chromosomes before any run: by the prediction, by an earlier campaign.

A scenario whose load is predicted has its own prediction. For another one there is only that for
an idle machine. It says little about the best window there, so almost nothing of it is expected.
The model learns from the runs how far to trust each source, the prediction in each scenario
separately (surrogate.py: the slopes).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from foreread.analyzer.tuner.engines.earlier import Earlier, Expectation
from foreread.analyzer.tuner.engines.predicted import Prediction
from foreread.analyzer.tuner.engines.surrogate import Floats
from foreread.analyzer.tuner.space.genes import Chromosome, Space

IDLE = "idle"
ELSEWHERE = 0.25  # of the gain predicted for an idle machine, expected under another load


def is_idle(scenario: str) -> bool:
    """Return whether nothing else runs in a scenario."""
    return scenario.partition(":")[0] == IDLE


class Predictions:
    """The prediction for an idle machine, and that beside each load that is predicted."""

    def __init__(
        self,
        predicted: Mapping[int, float] | None = None,
        under_load: Mapping[str, Mapping[int, float]] | None = None,
    ) -> None:
        self.idle = Prediction(predicted or {})
        self._under_load = {
            load: Prediction(seconds) for load, seconds in (under_load or {}).items() if seconds
        }

    def of(self, scenario: str) -> Prediction:
        """Return the prediction that is nearest to a scenario."""
        return self._under_load.get(scenario, self.idle)

    def share(self, scenario: str) -> float:
        """Return the part of the predicted gain that is expected in a scenario."""
        return 1.0 if is_idle(scenario) or scenario in self._under_load else ELSEWHERE

    def mean(self, weights: Mapping[str, float]) -> Prediction:
        """Return the prediction for all scenarios together; ``weights``: of each."""
        return Prediction.mean([self.of(scenario) for scenario in weights], [*weights.values()])


class Expected:
    """The log fitness that each source expects of chromosomes."""

    def __init__(
        self, space: Space, predictions: Predictions, earlier: Earlier | None, seed: int
    ) -> None:
        self._space, self._predictions = space, predictions
        self._earlier: Callable[[Sequence[Chromosome]], Floats] | None = None
        if earlier is not None:
            self._earlier = Expectation(earlier, seed).gains

    def of(
        self, chromosomes: Sequence[Chromosome], scenarios: Sequence[str]
    ) -> tuple[Floats, Floats]:
        """Return ``expected`` and ``before`` of Points."""
        count, predictions = len(scenarios), self._predictions
        by_scenario = [
            predictions.of(scenario).gains(self._space, chromosomes) for scenario in scenarios
        ]
        predicted = np.stack(by_scenario, axis=1)
        shares = np.array([predictions.share(scenario) for scenario in scenarios])
        expected = predicted[:, :, None] * np.eye(count)
        before = predicted * shares
        if self._earlier is not None:
            gains = self._earlier(chromosomes)
            ones = np.broadcast_to(gains[:, None, None], (len(gains), count, 1))
            expected = np.concatenate([expected, ones], axis=2)
            before = (before + gains[:, None]) / (2 if predictions.idle.known else 1)
        return expected, before
