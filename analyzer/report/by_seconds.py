"""The report's sections on predicted seconds, and on the kernel's rules that waste pages."""

from __future__ import annotations

import numpy as np

from foreread.analyzer.predict.kernel_waste import Caused
from foreread.analyzer.report.answer import without_empty
from foreread.analyzer.report.blocks import Bullets, Column, Figure, Paragraph, Section, Table
from foreread.analyzer.report.plots import seconds_plots
from foreread.analyzer.report.subject import Subject, row_of
from foreread.analyzer.report.timing import predicted_rows, spent_rows
from foreread.analyzer.report.wording import count, percent, seconds
from foreread.boards.base.counted import plural
from foreread.boards.base.units import kib_text
from foreread.emulator.linux.operations import Cause

MOST_FILES = 12
MOST_RULES = 5  # columns of a table
RULES = {
    Cause.ALONE: "page by page",
    Cause.ASKED: "requested pages",
    Cause.SEQUENTIAL: "sequential read begins",
    Cause.HISTORY: "after cached pages",
    Cause.MARKER: "next window, in advance",
    Cause.AROUND: "around a fault",
    Cause.EXEC: "after a fault in code",
    Cause.HUGE: "huge pages",
    Cause.ADVICE: "advice",
    Cause.BLOCK: "rest of a block",
}
MEANING = {
    Cause.ALONE: "a page read alone, without readahead",
    Cause.ASKED: "a read(2) that is not sequential gets its own pages",
    Cause.SEQUENTIAL: "a read(2) of a file's first page, or after the last read, opens a window",
    Cause.HISTORY: "a miss after cached pages counts as sequential",
    Cause.MARKER: "touching a marked page of a window reads the next one while it is used",
    Cause.AROUND: "a page fault reads half a window before the page and half after it",
    Cause.EXEC: "a page fault in a mapping of code reads a window from that page on",
    Cause.HUGE: "a page fault in a mapping with huge pages reads a huge page",
    Cause.ADVICE: "the application requested these pages with fadvise, madvise or readahead",
    Cause.BLOCK: "the file system unpacks whole blocks",
}


def start_up(subject: Subject) -> Section:
    """Return predicted seconds; without blocks if there are none."""
    section = Section("seconds", "Start-up time")
    if not predicted_rows(subject):
        return section
    section.blocks.extend(Figure(plot) for plot in seconds_plots(subject))
    section.blocks.append(_criteria(subject))
    section.blocks.append(_by_window(subject))
    return section


def _criteria(subject: Subject) -> Table:
    """Return the cost of each way to choose a window, predicted and measured."""
    total = subject.prediction.total
    reference_name = subject.reference.name
    alike = total.smallest_within in (None, total.predicted_best)
    ways = [
        ("fewest seconds predicted", total.predicted_best),
        ("smallest window within its band", None if alike else total.smallest_within),
        ("F² + G², the published criterion", total.quasi_optimal),
        (reference_name, subject.current_window),
    ]
    rows = [
        [
            what,
            kib_text(window * subject.page_kb),
            seconds(total.seconds_at(window)),
            percent(_regret(subject, window)),
            *_measured_cells(subject, window),
        ]
        for what, window in ways
        if window is not None
    ]
    columns = [
        Column("chosen by", "left", share=2.4),
        Column("window"),
        Column("predicted"),
        Column("regret, predicted"),
        Column("measured"),
        Column("regret, measured"),
    ]
    caption = (
        "Regret is the time lost against the best window, in parts of the time with "
        f"{kib_text(subject.current_kb)}. Measured: at that window, or the next smaller "
        "one measured."
    )
    return without_empty(Table(columns, rows, caption))


def _regret(subject: Subject, window: int) -> float | None:
    """Return the predicted regret of a window."""
    total = subject.prediction.total
    best = None if total.predicted_best is None else total.seconds_at(total.predicted_best)
    here, default = total.seconds_at(window), total.seconds_at(subject.current_window)
    return None if not default or here is None or best is None else (here - best) / default


def _measured_cells(subject: Subject, window: int) -> list[str]:
    validation = subject.validation
    if validation is None:
        return ["–", "–"]
    points = validation.points
    measured = {point.window: point.measured.seconds for point in points}
    at = max(
        (measured_window for measured_window in measured if measured_window <= window),
        default=points[0].window,
    )
    of_kb = {point.read_ahead_kb: point.measured.seconds for point in points}
    best, default = of_kb[validation.best_read_ahead_kb], of_kb[validation.default_read_ahead_kb]
    here = measured[at]
    regret = None if not default or here is None or best is None else (here - best) / default
    beside = "" if at == window else f" ({kib_text(at * subject.page_kb)})"
    return [f"{seconds(here)}{beside}", percent(regret)]


def _by_window(subject: Subject) -> Table:
    parts = dict(spent_rows(subject))
    total = subject.prediction.total
    columns = [
        Column("window", "left"),
        Column("predicted"),
        Column("band", share=1.7),
        Column("computing"),
        Column("asleep"),
        Column("waiting for needed pages", share=1.4),
        Column("waiting for unused pages", share=1.4),
        Column("requests"),
        Column("pages"),
    ]
    rows: list[list[str]] = []
    marked = set()
    for window, low, middle, high in predicted_rows(subject):
        row = row_of(total, window)
        spent = parts.get(window)
        cells = ["–"] * 4 if spent is None else [seconds(part) for part in spent]
        if spent is not None and spent[1] < 0.0005:
            cells[1] = "–"
        if window == total.predicted_best:
            marked.add(len(rows))
        counts = ["–", "–"] if row is None else [count(total.f[row]), count(total.pages[row])]
        at = kib_text(window * subject.page_kb)
        rows.append([at, seconds(middle), _band(low, high), *cells, *counts])
    caption = (
        "Replay of the recorded start-up with each window. The band contains nine of ten random "
        "draws of device, processor and captures. The file docs/explanation/accuracy.md compares "
        "predictions with measured start-ups. The predicted-best window is marked."
    )
    return without_empty(Table(columns, rows, caption, frozenset(marked)))


def _band(low: float, high: float) -> str:
    return f"{seconds(low).removesuffix(' s')} – {seconds(high)}"


def wasted(subject: Subject) -> list[Paragraph | Bullets | Table]:
    """Return which rules read how much, and unused pages of which files; nothing for a fixed
    window.
    """
    if subject.causes is None or not sum(int(caused.pages.sum()) for caused in subject.causes):
        return []
    sentences = [
        _sentence(caused)
        for caused in sorted(subject.causes, key=lambda caused: -int(caused.wasted.sum()))
    ]
    intro = (
        f"Rules of {subject.model_name} that read these pages at {kib_text(subject.window_kb)}, "
        "and the number of unused pages:"
    )
    return [Paragraph(intro), Bullets(sentences), *_by_file(subject, subject.causes)]


def _sentence(caused: Caused) -> str:
    pages, vain = int(caused.pages.sum()), int(caused.wasted.sum())
    share = f", {count(vain)} unused ({percent(vain / pages)})" if vain else ", none unused"
    return f"{RULES[caused.cause]}: {plural(pages, 'page')}{share} – {MEANING[caused.cause]}."


def _by_file(subject: Subject, causes: list[Caused]) -> list[Table]:
    wasteful = [caused for caused in causes if caused.wasted.sum()]
    wasteful = sorted(wasteful, key=lambda caused: -int(caused.wasted.sum()))[:MOST_RULES]
    vain = np.sum([caused.wasted for caused in causes], axis=0)
    order = [row for row in np.argsort(-vain, kind="stable").tolist() if vain[row]]
    if not order:
        return []
    columns = [
        Column("file", "left", share=4, is_path=True),
        Column("unused"),
        *(Column(RULES[caused.cause]) for caused in wasteful),
    ]
    rows = [["all files", count(vain.sum()), *(count(caused.wasted.sum()) for caused in wasteful)]]
    rows += [
        [subject.path(row), count(vain[row]), *(count(caused.wasted[row]) for caused in wasteful)]
        for row in order[:MOST_FILES]
    ]
    rest = order[MOST_FILES:]
    if rest:
        sums = [vain[rest].sum(), *(caused.wasted[rest].sum() for caused in wasteful)]
        rows.append([plural(len(rest), "other file"), *map(count, sums)])
    caption = f"Unused pages read at {kib_text(subject.window_kb)}, by file and by rule."
    return [Table(columns, rows, caption, frozenset({0}))]
