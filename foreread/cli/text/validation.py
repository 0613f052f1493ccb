"""What is printed of a prediction and measured runs: where they agree, and what the error costs."""

from __future__ import annotations

from collections.abc import Iterator

from foreread.analyzer.predict.validate import Validation, WindowResult
from foreread.boards.base.counted import plural
from foreread.boards.base.units import kib_text, percent_text
from foreread.cli.text.answer import answer_text
from foreread.cli.text.table import render, seconds_cell

MORE = "requests and pages by window, the regrets, and all notes"


def validation_text(of: Validation, *, verbose: bool = False) -> str:
    """Return the comparison; ``verbose``: with requests and pages by window."""
    return answer_text(
        list(_answer(of)),
        [_whole_table(of)] if verbose else [_table(of)],
        notes=of.notes,
        basis=list(_basis(of)),
        more="--verbose (requests, pages, regrets and all notes)",
        verbose=verbose,
    )


def _answer(of: Validation) -> Iterator[str]:
    measured = {point.read_ahead_kb: point.measured.seconds for point in of.points}
    best = f"{of.best_read_ahead_kb:,} KiB{_takes(measured.get(of.best_read_ahead_kb))}"
    kb = of.proposed_read_ahead_kb
    if kb is None:
        yield f"no window is predicted to be the fastest; measured to be the fastest: {best}"
    elif of.regret_proposed is None:
        yield f"the predicted window, {kb:,} KiB, was not measured; the fastest measured: {best}"
    elif kb == of.best_read_ahead_kb:
        default = of.default_read_ahead_kb
        against = "" if default == kb else f"; now, {default:,} KiB{_takes(measured.get(default))}"
        yield f"the predicted window is the fastest measured: {best}{against}"
    else:
        share = f"{percent_text(of.regret_proposed)}"
        time = f"the time at {of.default_read_ahead_kb:,} KiB"
        here = _takes(measured.get(kb))
        yield (
            f"the predicted window, {kb:,} KiB{here}, loses {share} of {time} against the "
            f"fastest measured, {best}"
        )
    if of.seconds_error_median is not None:
        yield (
            f"predicted seconds are off by {percent_text(of.seconds_error_median)} in the median, "
            f"{percent_text(of.seconds_error_max)} at most"
        )


def _takes(seconds: float | None) -> str:
    return "" if seconds is None else f" ({seconds:.3f} s)"


def _basis(of: Validation) -> Iterator[str]:
    windows = plural(len(of.points), "window")
    default = f"the default window is {of.default_read_ahead_kb:,} KiB"
    yield f"medians of measured cold runs at {windows} of {of.device}; {default}"
    if of.f_error_median is None:
        return
    yield (
        f"requests are off by {percent_text(of.f_error_median)} in the median, pages by "
        f"{percent_text(of.pages_error_median)}"
    )


def _table(of: Validation) -> str:
    head = ("KiB", "s predicted", "measured", "error", "requests' error", "pages' error")
    rows = [
        (
            *_seconds(p),
            percent_text(p.error.f, signed=True),
            percent_text(p.error.pages, signed=True),
        )
        for p in of.points
    ]
    return render(head, rows)


def _seconds(point: WindowResult) -> tuple[str, ...]:
    return (
        str(point.read_ahead_kb),
        seconds_cell(point.predicted.seconds),
        seconds_cell(point.measured.seconds),
        percent_text(point.error.seconds, signed=True),
    )


def _whole_table(of: Validation) -> str:
    head = ("KiB", "s pred.", "measured", "error")
    counts = ("F pred.", "measured", "error", "pages pred.", "measured", "error")
    rows = [
        (
            *_seconds(p),
            _number(p.predicted.f),
            _number(p.measured.f),
            percent_text(p.error.f, signed=True),
            _number(p.predicted.pages),
            _number(p.measured.pages),
            percent_text(p.error.pages, signed=True),
        )
        for p in of.points
    ]
    lines = [
        render((*head, *counts), rows),
        "",
        f"error of F: median {percent_text(of.f_error_median, signed=True)}, "
        f"largest {percent_text(of.f_error_max, signed=True)}",
        f"error of pages: median {percent_text(of.pages_error_median, signed=True)}",
        f"error of seconds: median {percent_text(of.seconds_error_median, signed=True)}, "
        f"largest {percent_text(of.seconds_error_max, signed=True)}",
        "regret, in parts of the default window's time: of the predicted best "
        f"({kib_text(of.chosen_read_ahead_kb, '-')}): {percent_text(of.regret, signed=True)}; "
        f"of the verdict ({kib_text(of.proposed_read_ahead_kb, '-')}): "
        f"{percent_text(of.regret_proposed, signed=True)}; of the published criterion "
        f"({kib_text(of.quasi_optimal_read_ahead_kb, '-')}): "
        f"{percent_text(of.regret_quasi_optimal, signed=True)}",
    ]
    return "\n".join(lines)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"
