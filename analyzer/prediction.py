"""What foreread predicts for every window: the result that reports, scripts and checks use."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

MINOR_SHARE = 0.05
KERNEL_DEFAULT_KB = 128  # VM_READAHEAD_PAGES, include/linux/pagemap.h


@dataclass(frozen=True)
class Spent:
    """Where the seconds go, by window: computing, waiting for the device, asleep.

    ``behind`` is the part of ``waited`` in which the device served pages that nobody used.
    """

    compute: list[float | None]
    waited: list[float | None]
    behind: list[float | None]
    asleep: list[float | None]


@dataclass(frozen=True)
class Curve:
    """One device's (or the total's) figures by window; lists are of one length.

    ``windows`` are in pages (Rws), ``g_formula`` is equation 3 of the 2010 paper, ``g`` the
    pages really loaded in vain, ``c_opt`` equation 7 (exact integers). ``seconds`` needs a
    device model and is None without one, or for windows that were not replayed;
    ``seconds_low`` and ``seconds_high`` are its band, and ``smallest_within`` is the smallest
    window within the band of the predicted best (docs/models.md, "The verdict").
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
    seconds_low: list[float | None] | None = None
    seconds_high: list[float | None] | None = None
    smallest_within: int | None = None
    spent: Spent | None = None

    def seconds_at(self, window: int) -> float | None:
        """Return the predicted seconds of a window; None where there are none."""
        if self.seconds is None or window not in self.windows:
            return None
        return self.seconds[self.windows.index(window)]


@dataclass(frozen=True)
class Verdict:
    """What to do, why, and by which criterion. ``none``: there is nothing to tune."""

    action: Literal["set", "keep", "none"]
    read_ahead_kb: int | None
    why: str
    by: Literal["criterion", "seconds"] = "criterion"


@dataclass(frozen=True)
class Prediction:
    """The answer for one recording.

    ``doubts`` say in what it is unlike what was judged against real kernels and measured starts;
    where there are any, the verdict does not go by seconds.
    """

    kernel: str | None
    page_size: int
    model: str
    recorded_read_ahead_kb: int | None
    contaminated: bool
    devices: list[Curve]
    total: Curve
    verdict: Verdict
    notes: tuple[str, ...] = field(default=())
    doubts: tuple[str, ...] = field(default=())

    @property
    def worth_setting(self) -> list[Curve]:
        """The disks that at least MINOR_SHARE of the pages came from: the others do not matter."""
        least = max(1, MINOR_SHARE * self.total.tap)
        return [curve for curve in self.devices if curve.tap >= least]

    @staticmethod
    def window_for(curve: Curve) -> int:
        """Return the window (pages) to set on one of several disks, by seconds if it has some."""
        chosen = (curve.smallest_within, curve.predicted_best, curve.quasi_optimal)
        return next(window for window in chosen if window is not None)

    @property
    def regret_quasi_optimal(self) -> float | None:
        """The predicted regret of the published criterion: a part of the default's seconds.

        The default is the window found on the board, or the kernel's own.
        """
        total = self.total
        kb = (
            KERNEL_DEFAULT_KB
            if total.current_read_ahead_kb is None
            else total.current_read_ahead_kb
        )
        default = total.seconds_at(kb * 1024 // self.page_size)
        quasi = total.seconds_at(total.quasi_optimal)
        best = None if total.predicted_best is None else total.seconds_at(total.predicted_best)
        return None if not default or quasi is None or best is None else (quasi - best) / default

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
                "by": self.verdict.by,
            },
            "predicted_regret_quasi_optimal": self.regret_quasi_optimal,
            "notes": list(self.notes),
            "doubts": list(self.doubts),
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
        "seconds_low": curve.seconds_low,
        "seconds_high": curve.seconds_high,
        "smallest_within": curve.smallest_within,
        "spent": None if curve.spent is None else asdict(curve.spent),
    }
