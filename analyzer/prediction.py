"""What foreread predicts for every window: the result that reports, scripts and checks use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

MINOR_SHARE = 0.05


@dataclass(frozen=True)
class Curve:
    """One device's (or the total's) figures by window; lists are of one length.

    ``windows`` are in pages (Rws), ``g_formula`` is equation 3 of the 2010 paper, ``g`` the
    pages really loaded in vain, ``c_opt`` equation 7 (exact integers). ``seconds`` needs a
    device model and is None without one, or for windows that were not replayed.
    ``turning_points`` counts the local minima of C_opt; ``iterated`` is what the paper's
    turning-point iteration finds.
    """

    dev: str
    name: str
    tap: int
    windows: list[int]
    read_ahead_kb: list[int]
    f: list[int]
    g: list[int]
    g_formula: list[int]
    pages: list[int]
    c_opt: list[int]
    seconds: list[float | None] | None
    quasi_optimal: int
    predicted_best: int | None
    iterated: int
    turning_points: int
    pareto: list[int]  # windows on the Pareto front of (F, G)
    current_read_ahead_kb: int | None = None  # as found on the board before the recording


@dataclass(frozen=True)
class Verdict:
    """What to do, and why. ``none``: there is nothing to tune."""

    action: Literal["set", "keep", "none"]
    read_ahead_kb: int | None
    why: str


@dataclass(frozen=True)
class Prediction:
    """The answer for one recording."""

    kernel: str | None
    page_size: int
    model: str
    recorded_read_ahead_kb: int | None
    contaminated: bool
    devices: list[Curve]
    total: Curve
    verdict: Verdict
    notes: tuple[str, ...] = field(default=())

    @property
    def worth_setting(self) -> list[Curve]:
        """The disks that at least MINOR_SHARE of the pages came from: the others do not matter."""
        least = max(1, MINOR_SHARE * self.total.tap)
        return [curve for curve in self.devices if curve.tap >= least]

    def to_json(self) -> dict[str, Any]:
        """Return the ``predict --json`` document, schema 1 (docs/design.md)."""
        return {
            "schema": 1,
            "kernel": self.kernel,
            "page_size": self.page_size,
            "model": self.model,
            "recorded_read_ahead_kb": self.recorded_read_ahead_kb,
            "contaminated": self.contaminated,
            "devices": [_curve_json(curve) for curve in self.devices],
            "total": _curve_json(self.total),
            "verdict": {
                "action": self.verdict.action,
                "read_ahead_kb": self.verdict.read_ahead_kb,
                "why": self.verdict.why,
            },
            "notes": list(self.notes),
        }


def _curve_json(curve: Curve) -> dict[str, Any]:
    return {
        "dev": curve.dev,
        "name": curve.name,
        "tap": curve.tap,
        "windows": curve.windows,
        "read_ahead_kb": curve.read_ahead_kb,
        "F": curve.f,
        "G": curve.g,
        "G_formula": curve.g_formula,
        "pages": curve.pages,
        "C_opt": curve.c_opt,
        "seconds": curve.seconds,
        "quasi_optimal": curve.quasi_optimal,
        "predicted_best": curve.predicted_best,
        "iterated": curve.iterated,
        "turning_points": curve.turning_points,
        "pareto": curve.pareto,
        "current_read_ahead_kb": curve.current_read_ahead_kb,
    }
