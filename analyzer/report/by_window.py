"""The report's sections of figures by window: measured, predicted, device by device."""

from __future__ import annotations

from foreread.analyzer.predict.prediction import Curve
from foreread.analyzer.predict.validate import Validation, WindowResult
from foreread.analyzer.report.answer import without_empty
from foreread.analyzer.report.blocks import (
    Block,
    Bullets,
    Column,
    Facts,
    Figure,
    Paragraph,
    Section,
    Table,
)
from foreread.analyzer.report.plots import curve_plots, measured_plots, model_plots
from foreread.analyzer.report.subject import Subject, row_of
from foreread.analyzer.report.wording import count, percent, power, seconds
from foreread.analyzer.report.worth import spread_of
from foreread.boards.base.counted import plural
from foreread.boards.base.units import kib_text

FEW_WINDOWS = 40  # up to which a table shows them all


def measured(subject: Subject) -> Section:
    """Return predicted against measured; without blocks where there is no sweep."""
    section = Section("measured", "Predicted against measured")
    validation = subject.validation
    if validation is None or subject.sweep is None:
        return section
    section.blocks.extend(Figure(plot) for plot in measured_plots(subject))
    section.blocks.extend(Figure(plot) for plot in model_plots(subject))
    section.blocks.append(_comparison(subject, validation))
    section.blocks.append(Facts(_errors(validation)))
    section.blocks.append(Bullets(list(validation.notes)))
    return section


def _comparison(subject: Subject, validation: Validation) -> Table:
    assert subject.sweep is not None
    runs = {point.read_ahead_kb: point.seconds for point in subject.sweep.points}
    has_seconds = any(point.predicted.seconds is not None for point in validation.points)
    columns = [
        Column("window", "left"),
        Column("measured"),
        Column("spread", share=1.5),
        *([Column("predicted"), Column("error")] if has_seconds else []),
        Column("requests"),
        Column("predicted"),
        Column("error"),
        Column("pages"),
        Column("predicted"),
        Column("error"),
    ]
    rows = [
        _comparison_row(point, runs[point.read_ahead_kb], has_seconds)
        for point in validation.points
    ]
    kbs = [point.read_ahead_kb for point in validation.points]
    best = kbs.index(validation.best_read_ahead_kb)
    repeats = max(len(values) for values in runs.values())
    caption = (
        f"Medians over {plural(repeats, 'run')} a window, and how far the fastest and the slowest "
        "were from it; errors are (predicted − measured) / measured. "
    )
    return Table(
        columns, rows, caption + "The fastest window measured is marked.", frozenset({best})
    )


def _comparison_row(point: WindowResult, runs: list[float], has_seconds: bool) -> list[str]:
    predicted, measured, error = point.predicted, point.measured, point.error
    times = [seconds(predicted.seconds), percent(error.seconds, signed=True)]
    return [
        kib_text(point.read_ahead_kb),
        seconds(measured.seconds),
        spread_of(runs),
        *(times if has_seconds else []),
        _count(measured.f),
        _count(predicted.f),
        percent(error.f, signed=True),
        _count(measured.pages),
        _count(predicted.pages),
        percent(error.pages, signed=True),
    ]


def _count(number: float | None) -> str:
    return "–" if number is None else count(number)


def _errors(validation: Validation) -> list[tuple[str, str]]:
    rows = [
        (
            "Error of requests (F)",
            _median_and_worst(validation.f_error_median, validation.f_error_max),
        ),
        ("Error of pages", f"{percent(validation.pages_error_median)} median"),
    ]
    if validation.seconds_error_median is not None:
        worst = validation.seconds_error_max
        rows.append(("Error of seconds", _median_and_worst(validation.seconds_error_median, worst)))
    regrets: dict[int | None, tuple[str, float | None]] = {
        validation.quasi_optimal_read_ahead_kb: ("quasi-optimal", validation.regret_quasi_optimal),
        validation.chosen_read_ahead_kb: ("predicted best", validation.regret),
        validation.proposed_read_ahead_kb: ("recommended", validation.regret_proposed),
    }
    for kb, (what, regret) in reversed(regrets.items()):
        if kb is not None:
            shown = "not measured" if regret is None else percent(regret)
            rows.append((f"Regret of {kib_text(kb)} ({what})", shown))
    return rows


def _median_and_worst(median: float | None, worst: float | None) -> str:
    return f"{percent(median)} median, {percent(worst)} worst"


def windows(subject: Subject) -> Section:
    """Return the predictions for every window; without blocks if nothing was accessed."""
    blocks: list[Block] = []
    if subject.sweep is None:
        blocks += [Figure(plot) for plot in model_plots(subject)]
    blocks += [Figure(plot) for plot in curve_plots(subject)]
    if blocks:
        blocks.append(_window_table(subject, subject.prediction.total))
        blocks += _turning_points(subject.prediction.total, subject.page_kb)
    title = "Every window, as predicted"
    if subject.version is not None:
        title = "Every window, and the published criterion"
    return Section("windows", title, blocks)


def _window_table(subject: Subject, curve: Curve) -> Table:
    octaves = {
        0,
        *(1 << n for n in range(21)),
        curve.quasi_optimal,
        subject.current_window,
        subject.window,
    }
    shown = [row for row, window in enumerate(curve.windows) if window in octaves]
    if len(curve.windows) <= FEW_WINDOWS:
        shown = list(range(len(curve.windows)))
    columns = [
        Column("window", "left"),
        Column("pages (Rws)"),
        Column("requests (F)"),
        Column("unused (G)"),
        Column("G as published", share=1.3),
        Column("pages read"),
        Column("C_opt", share=1.3),
        *([Column("predicted")] if curve.seconds else []),
    ]
    rows = [
        [
            kib_text(curve.windows[row] * subject.page_kb),
            count(curve.windows[row]),
            count(curve.f[row]),
            count(curve.g[row]),
            count(curve.g_formula[row]),
            count(curve.pages[row]),
            power(curve.c_opt[row]),
            *([seconds(curve.seconds[row])] if curve.seconds else []),
        ]
        for row in shown
    ]
    quasi = row_of(curve, curve.quasi_optimal)
    marked = frozenset({shown.index(quasi)} if quasi in shown else set())
    return Table(columns, rows, _models(subject) + "The quasi-optimal window is marked.", marked)


def _models(subject: Subject) -> str:
    """Return the source of a table's figures, unless all are from the fixed window."""
    if subject.version is None:
        return ""
    return (
        f"Requests, pages and unused pages are those of {subject.model_name}; G as published and "
        "C_opt those of the fixed window. "
    )


def _turning_points(curve: Curve, page_kb: float) -> list[Block]:
    if curve.turning_points <= 1 and curve.iterated == curve.quasi_optimal:
        return []
    return [
        Paragraph(
            f"C_opt has {count(curve.turning_points)} local minima here. The paper's iteration, "
            f"which expects one, stops at {kib_text(curve.iterated * page_kb)}; the exhaustive "
            f"search finds {kib_text(curve.quasi_optimal * page_kb)}, which is what counts here."
        )
    ]


def devices(subject: Subject) -> Section:
    """Return the answer device by device; without blocks where there is one."""
    section = Section("devices", "Devices")
    if not subject.several_devices:
        return section
    columns = [
        Column("device", "left"),
        Column("pages accessed"),
        Column("quasi-optimal"),
        Column("predicted best"),
        Column("in force before"),
        Column("requests there"),
        Column("unused there"),
    ]
    curves = [*subject.prediction.devices, subject.prediction.total]
    caption = f"Requests and unused pages are those at {kib_text(subject.window_kb)}."
    table = Table(columns, [_device_row(subject, curve) for curve in curves], caption)
    section.blocks.append(without_empty(table))
    return section


def _device_row(subject: Subject, curve: Curve) -> list[str]:
    row = row_of(curve, subject.window)
    best = curve.predicted_best
    return [
        curve.name if curve.dev == curve.name else f"{curve.name} ({curve.dev})",
        count(curve.tap),
        kib_text(curve.quasi_optimal * subject.page_kb),
        "–" if best is None else kib_text(best * subject.page_kb),
        kib_text(curve.current_read_ahead_kb),
        "–" if row is None else count(curve.f[row]),
        "–" if row is None else count(curve.g[row]),
    ]
