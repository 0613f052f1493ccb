"""The prediction for every window: the result that reports, scripts and checks use."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

MINOR_SHARE = 0.05
KERNEL_DEFAULT_KB = 128  # VM_READAHEAD_PAGES, include/linux/pagemap.h


@dataclass(frozen=True)
class Spent:
    """The parts of the seconds by window: computing, waiting for the device, asleep.

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
    pages loaded and never accessed, ``c_opt`` equation 7 (exact integers). ``seconds`` needs a
    device model and is None without one, or for windows that were not replayed;
    ``seconds_low`` and ``seconds_high`` are its band, and ``smallest_within`` is the smallest
    window within the band of the predicted best (docs/explanation/verdict.md).
    ``turning_points`` counts the local minima of C_opt; ``iterated`` is what the paper's
    turning-point iteration finds. ``f``, ``g`` and ``pages`` are of file data; the metadata that
    the recorded run read is added at every window, None if unknown. ``f_fixed`` is F of the fixed
    window, which g_formula and c_opt are computed from.
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
    metadata_requests: int | None = None
    metadata_pages: int | None = None
    f_fixed: list[int] | None = None

    @property
    def known_seconds(self) -> dict[int, float]:
        """The predicted seconds by read_ahead_kb; empty where none were predicted."""
        columns = zip(self.read_ahead_kb, self.seconds or [], strict=self.seconds is not None)
        return {kb: seconds for kb, seconds in columns if seconds is not None}

    def seconds_at(self, window: int) -> float | None:
        """Return the predicted seconds of a window; None where there are none."""
        if self.seconds is None or window not in self.windows:
            return None
        return self.seconds[self.windows.index(window)]


@dataclass(frozen=True)
class Verdict:
    """The recommendation, its reason and its basis.

    ``set`` and ``keep`` name a window. ``none``: there is nothing to tune. ``measure``: the
    seconds cannot be predicted, so no window is recommended; ``remedy`` is the command to type.
    ``by`` is "seconds" or "criterion" (F² + G²), None if neither decided.
    """

    action: Literal["set", "keep", "none", "measure"]
    read_ahead_kb: int | None
    why: str
    by: Literal["criterion", "seconds"] | None = None
    remedy: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as it stands in the ``predict --json`` document."""
        return asdict(self)


@dataclass(frozen=True)
class Prediction:
    """The answer for one recording.

    ``verdict`` is decided by predicted seconds, ``published`` by the 2010 paper's criterion
    F² + G². ``doubts`` say what makes the verdict less certain; they widen the band of the seconds
    and decide nothing. ``notes`` are about the basis of the figures, ``criterion_notes`` about the
    published criterion and the columns. ``disk_cost`` is the cost of the disk's requests in words,
    None if no seconds were replayed.
    """

    kernel: str | None
    page_size: int
    model: str
    recorded_read_ahead_kb: int | None
    contaminated: bool
    devices: list[Curve]
    total: Curve
    verdict: Verdict
    published: Verdict
    notes: tuple[str, ...] = field(default=())
    doubts: tuple[str, ...] = field(default=())
    criterion_notes: tuple[str, ...] = field(default=())
    disk_cost: str | None = None

    @property
    def ordered_notes(self) -> tuple[str, ...]:
        """Notes by what they change for the reader: the published criterion's properties last."""
        return (*self.notes, *self.criterion_notes)

    @property
    def worth_setting(self) -> list[Curve]:
        """The disks with at least MINOR_SHARE of the pages; the others are ignored."""
        least = max(1, MINOR_SHARE * self.total.tap)
        return [curve for curve in self.devices if curve.tap >= least]

    def by_criterion(self) -> Prediction:
        """Return the prediction with the published criterion's verdict."""
        return replace(self, verdict=self.published)

    def window_for(self, curve: Curve) -> int | None:
        """Return the window (pages) of one of several disks, on the basis of the verdict.

        None if the basis is seconds and this disk has none.
        """
        if self.verdict.by == "criterion":
            return curve.quasi_optimal
        return curve.predicted_best if curve.smallest_within is None else curve.smallest_within

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
            "verdict": self.verdict.to_json(),
            "published": self.published.to_json(),
            "predicted_regret_quasi_optimal": self.regret_quasi_optimal,
            "notes": list(self.ordered_notes),
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
        "F_fixed": curve.f_fixed,
        "metadata_requests": curve.metadata_requests,
        "metadata_pages": curve.metadata_pages,
    }
