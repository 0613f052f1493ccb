"""The published criterion for many starts: F and G of all of them, summed.

Source: Gorelkina et al., "Prediction of Optimal Readahead Parameter in Linux by Using Monitoring
Tool", Linux Symposium 2010, equations 3 and 7. The paper optimises one application at a time. F
counts requests and G pages, so both add up over several cold starts, without weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foreread.analyzer.predict.criterion import c_opt, quasi_optimal
from foreread.analyzer.predict.prediction import Curve, Prediction


@dataclass(frozen=True)
class Summed:
    """The minimum of F² + G² for several starts on one disk; ``window`` is in pages."""

    window: int
    f: int
    g: int
    c_opt: int
    tap: int


def summed(fixed: Sequence[Prediction], disk: str) -> Summed | None:
    """Return the minimum over the windows of ``fixed``; None if no start reads the disk.

    ``fixed`` are predictions of the fixed window, all at the same windows.
    """
    curves = [curve for prediction in fixed for curve in prediction.devices if curve.name == disk]
    if not curves:
        return None
    windows, tap = curves[0].windows, sum(curve.tap for curve in curves)
    requests = [sum(column) for column in zip(*map(_requests, curves), strict=True)]
    coefficients = c_opt(requests, windows, tap)
    window = quasi_optimal(coefficients, windows)
    at = windows.index(window)
    return Summed(window, requests[at], requests[at] * (window + 1) - tap, coefficients[at], tap)


def _requests(curve: Curve) -> list[int]:
    return curve.f if curve.f_fixed is None else curve.f_fixed
