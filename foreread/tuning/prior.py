"""The settings that are predicted from a capture, with which a tuning begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict.criterion import PUBLISHED, SECONDS
from foreread.analyzer.predict.disk.device_model import device_from
from foreread.analyzer.predict.predicted_settings import PREDICTABLE, predicted_settings
from foreread.analyzer.predict.prediction import Prediction
from foreread.analyzer.predict.proposal import Proposal, founding_proposal
from foreread.analyzer.tuner.space.catalogue import usual_names
from foreread.question import Question
from foreread.tracer.formats.scenario import IDLE


def beside_scenarios(
    prediction: Prediction,
    scenarios: Sequence[str],
    weights: Mapping[str, float],
) -> Prediction:
    """Return a prediction with its verdict for the ``scenarios`` of a tuning, as they are weighted.

    It stays as it is where no seconds decide, or the machine is idle in every scenario. A scenario
    that cannot be predicted does not count.
    """
    loads = [scenario for scenario in scenarios if scenario != IDLE]
    if prediction.verdict.by != SECONDS or not loads:
        return prediction
    # Few tunings begin with a prediction.
    from foreread.analyzer.load.named import predict_beside  # noqa: PLC0415

    idle = {} if IDLE in scenarios else {IDLE: 0.0}
    return predict_beside(prediction, loads, {**weights, **idle})


def proposed_settings(
    recording: Recording,
    prediction: Prediction,
    question: Question,
    genes: Sequence[str],
    tell: Callable[[str], None],
) -> Proposal | None:
    """Return the predicted window, with the predicted values of the other ``genes``.

    ``genes``: the settings to tune; none for the usual ones. None if no window is predicted;
    ``tell`` is called with the reason.
    """
    window = founding_proposal(prediction)
    if window is None:
        tell(f"no window is predicted from the capture: {prediction.verdict.why}")
    elif window.criterion == PUBLISHED and question.criterion == SECONDS:
        tell(f"no seconds are predicted from the capture: {prediction.verdict.why}")
    if window is None or window.criterion != SECONDS:
        return window
    predictable = [gene for gene in PREDICTABLE if gene in (genes or usual_names())]
    device = device_from(question.device_model)
    settings = predicted_settings([recording], prediction, device, predictable)
    if settings is None or not settings.genes:
        return window
    return replace(window, settings=settings.genes, beside_kb=settings.read_ahead_kb)
