"""The prediction beside the loads that a user names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.load.client import Load
from foreread.analyzer.load.recorded import load_in
from foreread.analyzer.load.scenarios import KINDS, load_of_scenario
from foreread.analyzer.load.verdicts import with_loads
from foreread.analyzer.predict.choice import ChoiceError
from foreread.analyzer.predict.counts import FIXED
from foreread.analyzer.predict.criterion import PUBLISHED, SECONDS, Criterion
from foreread.analyzer.predict.prediction import Prediction
from foreread.analyzer.predict.start import Start


def predict_beside(
    prediction: Prediction,
    loads: Sequence[StrPath],
    weights: Mapping[str, float] | None = None,
    criterion: Criterion = SECONDS,
) -> Prediction:
    """Return a prediction with its verdict for an idle machine and all ``loads``.

    Each is a scenario's name as ``foreread tune`` has it (``reader``, ``reader:/film``), the path
    of a capture with a load, or ``memory:24M``: the start with so much memory for its program and
    its files. ``weights``: of loads that do not count once, by these words.

    Raises ChoiceError for a prediction without seconds by its model, ArgumentError for a weight
    that concerns no load, LoadError for a load that cannot be, TraceError or CaptureError for a
    capture that cannot be read.
    """
    if criterion == PUBLISHED or prediction.model == FIXED:
        raise ChoiceError(
            "loads and memory change seconds, which the published criterion and the fixed model "
            "ignore",
            "leave out --load and --memory, or choose the kernel's model with --model linux",
        )
    start = next(iter(prediction.starts), None)
    return with_loads(prediction, [_named(load, start) for load in loads], weights)


def _named(load: StrPath, start: Start | None) -> Load:
    """Return a load beside a start, under the name that the user gave it."""
    text = str(load)
    is_scenario = text.partition(":")[0] in KINDS
    return replace((load_of_scenario if is_scenario else load_in)(text, start), name=text)
