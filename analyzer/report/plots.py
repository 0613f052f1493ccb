"""The figures of a report: which there are for a subject, with their captions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

from matplotlib.figure import Figure

from foreread.analyzer.predict.prediction import Curve
from foreread.analyzer.report.access_map import LONGEST_GAP, access_map
from foreread.analyzer.report.curves import c_opt, pareto, requests_and_waste
from foreread.analyzer.report.disk import bytes_over_time, request_sizes
from foreread.analyzer.report.measured import Quantity, against_measured
from foreread.analyzer.report.models import Quantity as ModelQuantity
from foreread.analyzer.report.models import by_model
from foreread.analyzer.report.style import WIDTH_IN, Canvas
from foreread.analyzer.report.subject import Subject
from foreread.analyzer.report.timing import predicted_rows, spent, spent_rows, start_up
from foreread.boards.base.units import kib_text

MOST_DEVICES = 4  # that get figures of their own


@dataclass(frozen=True)
class Plot:
    """One figure: file name without suffix, its content, and the function that draws it."""

    name: str
    title: str
    caption: str
    height_in: float
    draw: Callable[[Canvas], None]

    @cached_property
    def figure(self) -> Figure:
        """The figure, drawn once for page and PNG; use it within ``style.drawing``."""
        figure = Figure(figsize=(WIDTH_IN, self.height_in), facecolor="white")
        self.draw(figure)
        return figure


def seconds_plots(subject: Subject) -> list[Plot]:
    """Return the figures of predicted seconds, if there are any."""
    if not predicted_rows(subject):
        return []
    points = "" if subject.sweep is None else " Each dash is a measured cold run."
    plots = [
        Plot(
            name="seconds",
            title="Start-up time by window",
            caption="Predicted from one recording by replay; the shaded band shows the "
            f"uncertainty from device, processor and captures.{points}",
            height_in=3.1,
            draw=partial(start_up, subject=subject),
        )
    ]
    if spent_rows(subject):
        plots.append(
            Plot(
                name="spent",
                title="Where the predicted time goes",
                caption="Waiting for needed pages: no thread computes, and the device reads for "
                "the application. Waiting for unused pages: the device reads pages that nobody "
                "uses.",
                height_in=2.75,
                draw=partial(spent, subject=subject),
            )
        )
    return plots


def model_plots(subject: Subject) -> list[Plot]:
    """Return requests and pages of the kernel's readahead and of the fixed window."""
    if subject.version is None or not subject.prediction.total.tap:
        return []
    metadata = "" if subject.sweep is None else f" {_about_metadata(subject)}"
    shown: list[tuple[ModelQuantity, str]] = [
        ("requests", "Requests by window"),
        ("pages", "Pages read by window"),
    ]
    return [
        Plot(
            name=f"models-{quantity}",
            title=title,
            caption=f"The readahead of {subject.model_name}, emulated from the recording, and the "
            f"fixed window that the published criterion uses.{metadata}",
            height_in=2.75,
            draw=partial(by_model, subject=subject, quantity=quantity),
        )
        for quantity, title in shown
    ]


def _about_metadata(subject: Subject) -> str:
    if subject.prediction.total.metadata_requests is None:
        return "Measured figures include metadata reads, predicted ones do not."
    return "All figures include metadata reads: predicted ones those of the recorded run."


def measured_plots(subject: Subject) -> list[Plot]:
    """Return the figures of predicted against measured; none without a sweep."""
    if subject.validation is None or subject.sweep is None:
        return []
    shown: list[tuple[Quantity, str, str]] = [
        (
            "seconds",
            "Start-up time by window",
            "Cold runs; each dash is one run, the line joins their medians.",
        ),
        (
            "requests",
            "Requests by window",
            _about_metadata(subject),
        ),
        (
            "pages",
            "Pages read by window",
            _about_metadata(subject),
        ),
    ]
    return [
        Plot(
            name=f"measured-{quantity}",
            title=title,
            caption=caption,
            height_in=2.75,
            draw=partial(
                against_measured,
                validation=subject.validation,
                sweep=subject.sweep,
                page_kb=subject.page_kb,
                quantity=quantity,
            ),
        )
        for quantity, title, caption in shown
        if not _drawn_elsewhere(subject, quantity)
    ]


def _drawn_elsewhere(subject: Subject, quantity: Quantity) -> bool:
    """Return whether a figure of predictions shows the measured points, too."""
    if quantity == "seconds":
        return bool(predicted_rows(subject))
    return subject.version is not None


def curve_plots(subject: Subject) -> list[Plot]:
    """Return the figures of predictions by window; none if nothing was accessed."""
    if not subject.prediction.total.tap:
        return []
    plots = [
        Plot(
            name="c-opt",
            title="Coefficient of optimality by window",
            caption="C_opt = F² + G², G as published (equations 3 and 7 of the 2010 paper). "
            "The star is its minimum, the quasi-optimal window.",
            height_in=2.75,
            draw=partial(c_opt, subject=subject),
        )
    ]
    for suffix, of, curve in _curves(subject):
        plots += _curve_plots(subject, suffix, of, curve)
    return plots


def _curves(subject: Subject) -> list[tuple[str, str, Curve]]:
    """Return (suffix of file names, suffix of titles, curve): the total, then several devices."""
    curves = [("", ", all devices" if subject.several_devices else "", subject.prediction.total)]
    largest = sorted(subject.prediction.worth_setting, key=lambda curve: -curve.tap)
    if len(largest) > 1:
        curves += [
            (f"-{number}", f", {curve.name}", curve)
            for number, curve in enumerate(largest[:MOST_DEVICES], 1)
        ]
    return curves


def _curve_plots(subject: Subject, suffix: str, of: str, curve: Curve) -> list[Plot]:
    shown = [
        Plot(
            name=f"requests-and-waste{suffix}",
            title=f"Requests and unused pages by window{of}",
            caption="F falls and G rises with the window. The dotted G, a fixed window's, counts "
            "pages after the end of a file, and pages read twice, as published.",
            height_in=2.75,
            draw=partial(requests_and_waste, subject=subject, curve=curve),
        ),
        Plot(
            name=f"pareto{suffix}",
            title=f"Pareto front of requests and unused pages{of}",
            caption="Each dot is a window. No window is better in both than a window on the "
            "front; the fastest of them depends on the device.",
            height_in=2.75,
            draw=partial(pareto, subject=subject, curve=curve),
        ),
    ]
    return shown[1:] if subject.version is not None and not suffix else shown  # model_plots


def map_plots(subject: Subject) -> list[Plot]:
    """Return the map of page accesses; none if nothing was accessed."""
    if not subject.recording.accesses.rows:
        return []
    return [
        Plot(
            name="access-map",
            title="Page accesses over time and file offset",
            caption="Every page read, files stacked in the order they were first touched. Pages "
            f"that {kib_text(subject.window_kb)} would read unused ({subject.model_name}) are "
            "drawn beside the request that reads them. "
            f"Stretches of more than {LONGEST_GAP} pages that nothing reads are drawn shorter.",
            height_in=5.0,
            draw=partial(access_map, subject=subject),
        )
    ]


def disk_plots(subject: Subject) -> list[Plot]:
    """Return the figures of the recorded requests; none if no read was recorded."""
    if not subject.reads.any():
        return []
    recorded = subject.recording.recorded_read_ahead_kb
    run = "the recorded run" + ("" if recorded is None else f" (read_ahead_kb={recorded})")
    disks = " and ".join(curve.name for curve in subject.prediction.worth_setting) or "the disks"
    return [
        Plot(
            name="request-sizes",
            title="Requests by size",
            caption=f"Reads that {disks} served during {run}, for all processes.",
            height_in=2.2,
            draw=partial(request_sizes, subject=subject),
        ),
        Plot(
            name="bytes-over-time",
            title="Bytes read over time",
            caption=f"Bytes that {disks} delivered during {run}, to all processes.",
            height_in=2.2,
            draw=partial(bytes_over_time, subject=subject),
        ),
    ]
