"""The weight of each scenario in a campaign's fitness, as the user chose it; 1 by default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Annotated

import msgspec
from msgspec import Meta

from foreread.analyzer.tuner.space.genes import GeneError
from foreread.analyzer.tuner.store.records import Spec
from foreread.tracer.formats.scenario import LEAST_WEIGHT, MOST_WEIGHT

MOST_SCENARIOS = 100

Weight = Annotated[float, Meta(ge=LEAST_WEIGHT, le=MOST_WEIGHT)]
Weights = Annotated[dict[str, Weight], Meta(max_length=MOST_SCENARIOS)]


class _Weighed(msgspec.Struct, frozen=True):
    weights: Weights = {}


def weights_of(spec: Spec) -> dict[str, float]:
    """Return the weight of each scenario, in their order; raises GeneError for damaged weights."""
    try:
        chosen = msgspec.json.decode(spec.space or "{}", type=_Weighed).weights
    except (msgspec.MsgspecError, RecursionError) as error:
        message = f"the weights of the campaign are damaged: {error}"
        raise GeneError(message, "begin a new campaign") from error
    return {scenario: chosen.get(scenario, 1.0) for scenario in spec.scenarios}


def weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """Return the weighted mean; exactly the plain mean where all weights are equal."""
    return fmean(values) if len(set(weights)) < 2 else fmean(values, weights)


def weights_text(weights: Mapping[str, float]) -> str:
    """Return the weights in words; empty where all weights are equal."""
    if len(set(weights.values())) < 2:
        return ""
    return ", ".join(f"{scenario}={weight:g}" for scenario, weight in weights.items())
