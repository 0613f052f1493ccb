"""The prediction beside the loads that a user names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from foreread.analyzer.load.scenarios import load_of_scenario
from foreread.analyzer.load.verdicts import with_loads
from foreread.analyzer.predict.choice import ChoiceError
from foreread.analyzer.predict.counts import FIXED
from foreread.analyzer.predict.criterion import PUBLISHED, SECONDS, Criterion
from foreread.analyzer.predict.prediction import Prediction


def predict_beside(
    prediction: Prediction,
    loads: Sequence[str],
    weights: Mapping[str, float] | None = None,
    criterion: Criterion = SECONDS,
) -> Prediction:
    """Return a prediction with its verdict for an idle machine and all ``loads``.

    Each is a scenario's name as ``foreread tune`` has it: ``reader``, ``reader:/film``.
    ``weights``: of loads that do not count once.

    Raises ChoiceError for a prediction without seconds by its model, ArgumentError for a weight
    that concerns no load, and LoadError for an unknown name.
    """
    if criterion == PUBLISHED or prediction.model == FIXED:
        raise ChoiceError(
            "a load changes seconds, which the published criterion and the fixed model ignore",
            "leave out --load, or choose the kernel's model with --model linux",
        )
    start = next(iter(prediction.starts), None)
    named = [replace(load_of_scenario(text, start), name=text) for text in loads]
    return with_loads(prediction, named, weights)
