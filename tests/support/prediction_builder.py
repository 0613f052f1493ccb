"""Curves and predictions of one disk, with whatever a test wants to be different."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from foreread.analyzer.predict.prediction import Curve, Prediction, Verdict

WINDOWS = [0, 32, 128]


def curve_of(dev: str = "179:0", name: str = "mmcblk0", tap: int = 100, **changes: Any) -> Curve:
    """Return figures at three windows, without seconds."""
    made = Curve(
        dev=dev,
        name=name,
        tap=tap,
        windows=WINDOWS,
        read_ahead_kb=[w * 4 for w in WINDOWS],
        f=[9, 5, 3],
        g=[0, 5, 50],
        g_formula=[0, 5, 50],
        pages=[100, 105, 150],
        c_opt=[81, 50, 2509],
        seconds=None,
        quasi_optimal=32,
        predicted_best=None,
        iterated=32,
        turning_points=1,
        pareto=[0, 32, 128],
    )
    return msgspec.structs.replace(made, **changes)


def prediction_of(
    *curves: Curve,
    action: Literal["set", "keep", "none", "measure"] = "set",
    read_ahead_kb: int | None = 128,
) -> Prediction:
    """Return a prediction whose total is its first curve."""
    curves = curves or (curve_of(),)
    verdict = Verdict(action, read_ahead_kb, "it reads less", "seconds")
    return Prediction("6.1.25", 4096, "fixed", 0, False, list(curves), curves[0], verdict, verdict)
