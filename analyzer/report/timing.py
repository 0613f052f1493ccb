"""Figures of predicted seconds by window: with their band and the measurements, and their parts."""

from __future__ import annotations

from statistics import median

from matplotlib.axes import Axes

from foreread.analyzer.report.measured import value_axis
from foreread.analyzer.report.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    SKY,
    VERMILLION,
    Canvas,
    axes,
    legend,
    window_axis,
)
from foreread.analyzer.report.subject import Subject
from foreread.boards.base.units import kib_text

PARTS = (  # name, colour, hatch: distinguished in grey print, too
    ("computing", SKY, ""),
    ("asleep", "#dddddd", ""),
    ("waiting for needed pages", BLUE, ""),
    ("waiting for unused pages", VERMILLION, "////"),
)


def start_up(canvas: Canvas, subject: Subject) -> None:
    """Draw predicted seconds by window with their band, and each measured run."""
    ax = axes(canvas, top=0.72)
    predicted = predicted_rows(subject)
    windows = [window for window, *_ in predicted]
    low, middle, high = zip(*(values for _, *values in predicted), strict=True)
    ax.fill_between(windows, low, high, color=BLUE, alpha=0.25, linewidth=0, label="its band")
    ax.plot(windows, middle, "^--", color=BLUE, markersize=3.5, label="predicted")
    measured = _measured(subject)
    for window, values in measured.items():
        ax.plot([window] * len(values), values, "_", color=GREY, markersize=8, zorder=3)
    medians = {window: median(values) for window, values in measured.items()}
    if medians:
        shown = (list(medians), list(medians.values()))
        ax.plot(*shown, "o-", color=BLACK, linewidth=1.2, label="measured (median)")
    _mark(ax, subject, dict(zip(windows, middle, strict=True)))
    runs = [value for values in measured.values() for value in values]
    value_axis(ax, "start-up time (s)", [*low, *high, *runs])
    window_axis(ax, [*windows, *measured], subject.page_kb)
    legend(ax, columns=3)


def spent(canvas: Canvas, subject: Subject) -> None:
    """Draw where the predicted seconds go, a bar for each window that was replayed."""
    ax = axes(canvas, top=0.36, bottom=0.62)
    rows = spent_rows(subject)
    at = range(len(rows))
    bottom = [0.0] * len(rows)
    for part, (name, colour, hatch) in enumerate(PARTS):
        values = [parts[part] for _, parts in rows]
        if part == 1 and sum(values) < 0.001 * sum(sum(parts) for _, parts in rows):
            continue  # nobody slept
        ax.bar(
            at,
            values,
            bottom=bottom,
            width=0.78,
            color=colour,
            label=name,
            hatch=hatch,
            edgecolor="black" if hatch else colour,
            linewidth=0,
        )
        bottom = [below + value for below, value in zip(bottom, values, strict=True)]
    names = [f"{window * subject.page_kb:g}" for window, _ in rows]
    small = len(names) > 16
    ax.set_xticks(list(at), names, rotation=60 if small else 0, size=7 if small else 8.5)
    ax.set_xlim(-0.6, len(rows) - 0.4)
    ax.grid(False, axis="x")
    ax.set_ylabel("predicted start-up (s)")
    ax.set_xlabel("read_ahead_kb (KiB)")
    legend(ax, columns=4)


def predicted_rows(subject: Subject) -> list[tuple[int, float, float, float]]:
    """Return (window, lowest, predicted, highest seconds) of each window with seconds."""
    total = subject.prediction.total
    seconds = total.seconds or []
    low, high = total.seconds_low or seconds, total.seconds_high or seconds
    return [
        (window, least, middle, most)
        for window, least, middle, most in zip(total.windows, low, seconds, high, strict=False)
        if least is not None and middle is not None and most is not None
    ]


def spent_rows(subject: Subject) -> list[tuple[int, tuple[float, float, float, float]]]:
    """Return (window, seconds of each of PARTS) of each window that was replayed."""
    total = subject.prediction.total
    parts = total.spent
    if parts is None:
        return []
    columns = zip(parts.compute, parts.asleep, parts.waited, parts.behind, strict=True)
    return [
        (window, (compute, asleep, waited - unused, unused))
        for window, (compute, asleep, waited, unused) in zip(total.windows, columns, strict=True)
        if compute is not None and asleep is not None and waited is not None and unused is not None
    ]


def _measured(subject: Subject) -> dict[int, list[float]]:
    if subject.validation is None or subject.sweep is None:
        return {}
    runs = {point.read_ahead_kb: point.seconds for point in subject.sweep.points}
    return {point.window: runs[point.read_ahead_kb] for point in subject.validation.points}


def _mark(ax: Axes, subject: Subject, seconds: dict[int, float]) -> None:
    """Mark the interesting windows; hollow marks, so that none hides another."""
    total = subject.prediction.total
    reference_name = subject.reference.name
    marks = [
        ("published criterion", total.quasi_optimal, "*", 13, ORANGE),
        ("predicted best", total.predicted_best, "s", 11, "none"),
        (reference_name, subject.current_window, "D", 8, "none"),
    ]
    if subject.prediction.verdict.action == "set":
        marks.insert(0, ("recommended", subject.window, "P", 9, GREEN))
    for what, window, marker, points, face in marks:
        if window is not None and window in seconds:
            ax.plot(
                [window],
                [seconds[window]],
                linestyle="none",
                marker=marker,
                markersize=points,
                markeredgecolor=BLACK,
                markerfacecolor=face,
                zorder=5,
                label=f"{what}: {kib_text(window * subject.page_kb)}",
            )
