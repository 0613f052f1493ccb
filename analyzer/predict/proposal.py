"""Which window a capture's prediction proposes, to measure it."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.predict.prediction import Curve, Prediction


@dataclass(frozen=True)
class Proposal:
    """A window, in KiB.

    ``by_disk``: the disks that matter, and the window proposed for each. ``seconds``: predicted
    by read_ahead_kb, where the model predicts seconds.
    """

    read_ahead_kb: int
    by_disk: dict[str, int]
    seconds: dict[int, float]

    def predicted_gain(self, present_kb: int) -> float | None:
        """Return the predicted share of the present window's time that the proposal saves."""
        present, proposed = (self.seconds.get(kb) for kb in (present_kb, self.read_ahead_kb))
        return None if not present or proposed is None else 1 - proposed / present


def proposal_of(prediction: Prediction, asked_kb: int | None = None) -> Proposal | None:
    """Return what ``prediction`` proposes, or ``asked_kb`` on all its disks.

    None unless the verdict is to set a window.
    """
    verdict, known = prediction.verdict, prediction.total.known_seconds
    curves = prediction.worth_setting
    if asked_kb is not None:
        return Proposal(asked_kb, {curve.name: asked_kb for curve in curves}, known)
    kb = verdict.read_ahead_kb
    if verdict.action != "set" or kb is None:
        return None
    if len(curves) == 1:
        return Proposal(kb, {curves[0].name: kb}, known)
    by_disk = {curve.name: _window_kb(prediction, curve) for curve in curves}
    return Proposal(kb, {name: kb for name, kb in by_disk.items() if kb is not None}, known)


def _window_kb(prediction: Prediction, curve: Curve) -> int | None:
    window = prediction.window_for(curve)
    return None if window is None else curve.read_ahead_kb[curve.windows.index(window)]
