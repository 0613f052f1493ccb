"""Which window a capture's prediction proposes, to measure it, or to tune from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from foreread.analyzer.predict.criterion import PUBLISHED, SECONDS, Criterion
from foreread.analyzer.predict.kib import whole_pages
from foreread.analyzer.predict.prediction import Curve, Prediction


@dataclass(frozen=True)
class Proposal:
    """A window, in KiB.

    ``by_disk``: the disks that matter, and the window proposed for each. ``seconds``: predicted
    by read_ahead_kb, where the model predicts seconds; ``under_load``: the same beside each load.
    ``criterion``: what decided. ``settings``: values of other genes, predicted together with the
    window ``beside_kb``, which is None without such genes.
    """

    read_ahead_kb: int
    by_disk: dict[str, int]
    seconds: dict[int, float]
    criterion: Criterion = SECONDS
    settings: Mapping[str, int | str] = field(default_factory=dict)
    beside_kb: int | None = None
    under_load: Mapping[str, Mapping[int, float]] = field(default_factory=dict)

    def predicted_gain(self, present_kb: int) -> float | None:
        """Return the predicted share of the present window's time that the proposal saves."""
        present, proposed = (self.seconds.get(kb) for kb in (present_kb, self.read_ahead_kb))
        return None if not present or proposed is None else 1 - proposed / present


def proposal_of(
    prediction: Prediction, asked_kb: int | None = None, kept: bool = False
) -> Proposal | None:
    """Return what ``prediction`` proposes, or ``asked_kb`` on all its disks.

    None unless the verdict is to set a window; or to keep one, if ``kept``. Raises WindowSizeError
    if ``asked_kb`` is not whole pages.
    """
    verdict, known = prediction.verdict, prediction.total.known_seconds
    curves = prediction.worth_setting
    if asked_kb is not None:
        whole_pages(asked_kb, prediction.page_size)
        return Proposal(asked_kb, {curve.name: asked_kb for curve in curves}, known)
    kb = verdict.read_ahead_kb
    if verdict.action not in ("set", "keep" if kept else "set") or kb is None:
        return None
    by = PUBLISHED if verdict.by == "criterion" else SECONDS
    if len(curves) == 1 or verdict.action == "keep":
        return Proposal(kb, {curve.name: kb for curve in curves}, known, by)
    by_disk = {curve.name: _window_kb(prediction, curve) for curve in curves}
    return Proposal(kb, {name: kb for name, kb in by_disk.items() if kb is not None}, known, by)


def founding_proposal(prediction: Prediction) -> Proposal | None:
    """Return the window that a tuning begins with; None where there is nothing to tune.

    Where the seconds cannot be predicted it is that of the published criterion.
    """
    proposal = proposal_of(prediction, kept=True)
    if proposal is None:
        return proposal_of(prediction.by_criterion(), kept=True)
    return replace(proposal, under_load=prediction.under_load)


def _window_kb(prediction: Prediction, curve: Curve) -> int | None:
    window = prediction.window_for(curve)
    return None if window is None else curve.read_ahead_kb[curve.windows.index(window)]
