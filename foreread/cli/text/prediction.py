"""What ``foreread predict`` prints about one start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foreread.analyzer.predict.counts import FIXED
from foreread.analyzer.predict.holds_for import holds_for, machine
from foreread.analyzer.predict.linux import release_of
from foreread.analyzer.predict.prediction import Curve, Prediction
from foreread.boards.base.counted import plural
from foreread.boards.base.printable import printable
from foreread.boards.base.units import KIB
from foreread.cli.text.answer import answer_text
from foreread.cli.text.curve import curve_text
from foreread.cli.text.table import render, seconds_cell

_SHOWN_KB = (0, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
_ALL_SHOWN = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512, 1023)  # pages
_MOST_ROWS = 16  # of a table without any of these windows


def prediction_text(
    prediction: Prediction,
    proofs: Sequence[str] = (),
    path: str = "CAPTURE",
    *,
    verbose: bool = False,
) -> str:
    """Return the verdict, the curve of seconds, and what they rest on; ``verbose``: all tables.

    ``proofs`` are lines about measured runs; ``path`` names the capture in commands.
    """
    return answer_text(
        [*_verdict(prediction), *proofs],
        [*_loads(prediction), *(_tables(prediction) if verbose else _figures(prediction))],
        doubts=prediction.doubts,
        notes=prediction.ordered_notes,
        basis=list(_basis(prediction, path, verbose)),
        more=_more(prediction),
        verbose=verbose,
    )


def _verdict(prediction: Prediction) -> Iterator[str]:
    verdict = prediction.verdict
    value = "" if verdict.read_ahead_kb is None else f" read_ahead_kb={verdict.read_ahead_kb}"
    yield f"verdict: {verdict.action}{value}"
    yield f"  {verdict.why}"
    if verdict.remedy is not None:
        yield f"  run: {verdict.remedy}"


def _more(prediction: Prediction) -> str:
    more = "--verbose (all tables and notes)"
    if prediction.verdict.read_ahead_kb is None or prediction.beside:
        return more
    return f"{more}; under load: foreread confirm CAPTURE --scenario reader"


def _basis(prediction: Prediction, path: str, verbose: bool) -> Iterator[str]:
    of = "the 2010 paper's fixed window"
    if prediction.model != FIXED:
        of = f"the readahead of Linux {release_of(prediction.model)}"
    load = holds_for(prediction.verdict, path, prediction.beside)
    accessed = f"{plural(prediction.total.tap, 'page')} accessed"
    yield f"{of}{f' on {machine(prediction.beside)}' if load else ''}; {accessed}"
    if load and verbose:
        yield f"load: {load}"


def _loads(prediction: Prediction) -> Iterator[str]:
    """Yield the table of loads: the fastest window of each, and the windows of the verdicts."""
    if prediction.loads is not None:
        from foreread.cli.text.loads import loads_text  # noqa: PLC0415  (few are beside loads)

        yield loads_text(prediction.loads, prediction.verdict, prediction.reference)


def _figures(prediction: Prediction) -> Iterator[str]:
    """Yield the total as a curve or a table, and lines on the disks."""
    total = prediction.total
    if not total.tap:
        return
    drawn = "" if total.seconds is None else curve_text(total.read_ahead_kb, total.seconds)
    yield "\n".join([drawn or _short_table(prediction), *_disks(prediction)])


def _disks(prediction: Prediction) -> Iterator[str]:
    """Yield a line for each of several disks that count, and one for all others."""
    worth = prediction.worth_setting
    for curve in worth if len(worth) > 1 else ():
        window = prediction.window_for(curve)
        best = "" if window is None else f", its window: {_kb(curve, window):,} KiB"
        yield f"{printable(curve.name)}: {_accessed(curve)}{best}"
    rest = [curve for curve in prediction.devices if curve not in worth]
    if rest:
        names = ", ".join(printable(curve.name) for curve in rest)
        pages = plural(sum(curve.tap for curve in rest), "page")
        yield f"{names}: {pages} of {prediction.total.tap:,}, too few for a window to matter"


def _short_table(prediction: Prediction) -> str:
    curve, marks = prediction.total, _marks(prediction)
    by_criterion = prediction.verdict.by == "criterion"
    shown = [
        at
        for at, (window, kb) in enumerate(zip(curve.windows, curve.read_ahead_kb, strict=True))
        if kb in _SHOWN_KB or window in marks
    ]
    timed = ("seconds", "band") if curve.seconds is not None else ()
    paper = ("G fixed", "C_opt") if by_criterion else ()
    head = ("KiB", "requests", "pages", "unused", *paper, *timed, "")
    rows = []
    for at in shown or range(len(curve.windows))[:_MOST_ROWS]:
        counts = (curve.read_ahead_kb[at], curve.f[at], curve.pages[at], curve.g[at])
        fixed = (str(curve.g_formula[at]), f"{curve.c_opt[at]:.4g}") if by_criterion else ()
        seconds = _seconds(curve, at) if timed else ()
        mark = ", ".join(marks.get(curve.windows[at], []))
        rows.append((*map(str, counts), *fixed, *seconds, mark))
    return render(head, rows)


def _marks(prediction: Prediction) -> dict[int, list[str]]:
    """Return remarks about the windows (pages) that the verdict compares."""
    curve, marks = prediction.total, dict[int, list[str]]()
    verdict, size_kb = prediction.verdict, prediction.page_size / KIB
    of = [
        (
            None if verdict.read_ahead_kb is None else int(verdict.read_ahead_kb // size_kb),
            verdict.action,
        ),
        (curve.predicted_best, "fastest"),
        (int(prediction.reference.kb // size_kb), "now" if prediction.reference.in_force else ""),
    ]
    if verdict.by == "criterion":
        of.append((curve.quasi_optimal, "quasi-optimal"))
    for window, word in of:
        if window is not None and word:
            marks.setdefault(window, []).append(word)
    return marks


def _tables(prediction: Prediction) -> Iterator[str]:
    """Yield every table, of each disk and of the total, and what the published criterion says."""
    curves = prediction.devices if len(prediction.devices) > 1 else []
    yield from map(_table, (*curves, prediction.total))
    total = prediction.total
    if total.seconds is not None:
        yield curve_text(total.read_ahead_kb, total.seconds)
    if total.tap:
        seconds = total.seconds_at(total.quasi_optimal)
        timed = "" if seconds is None else f", {seconds:.3f} s"
        kb = _kb(total, total.quasi_optimal)
        yield f"published criterion F² + G²: {kb:,} KiB{timed}\n  {prediction.published.why}"


def _table(curve: Curve) -> str:
    marks = _all_marks(curve)
    shown = [w for w in curve.windows if w in _ALL_SHOWN or w in marks]
    rows = [_row(curve, w, ", ".join(marks.get(w, []))) for w in (shown or curve.windows[:16])]
    timed = ("seconds", "band") if curve.seconds is not None else ()
    head = (
        "window",
        "KiB",
        "F requests",
        "pages",
        "G unused",
        "G fixed",
        "C_opt fixed",
        *timed,
        "",
    )
    front = [_kb(curve, window) for window in curve.pareto]
    pareto = f"Pareto-optimal windows (no other has both fewer F and fewer G): {_listed(front)} KiB"
    return f"{printable(curve.name)}: {_accessed(curve)}\n{render(head, rows)}\n{pareto}"


def _accessed(curve: Curve) -> str:
    accessed = f"{plural(curve.tap, 'page')} accessed"
    if curve.metadata_requests is None or curve.metadata_pages is None:
        return accessed
    requests = plural(curve.metadata_requests, "request")
    pages = plural(curve.metadata_pages, "page")
    return f"{accessed}; metadata at every window: {requests}, {pages}"


def _all_marks(curve: Curve) -> dict[int, list[str]]:
    marks = {curve.quasi_optimal: ["quasi-optimal"]}
    if curve.predicted_best is not None:
        marks.setdefault(curve.predicted_best, []).insert(0, "predicted best")
    if curve.smallest_within is not None and curve.smallest_within != curve.predicted_best:
        marks.setdefault(curve.smallest_within, []).insert(0, "smallest within its band")
    return marks


def _listed(numbers: list[int]) -> str:
    """Return the first numbers, how many more, and the last."""
    if len(numbers) <= 12:
        return ", ".join(map(str, numbers))
    return f"{', '.join(map(str, numbers[:8]))}, {len(numbers) - 9} more, {numbers[-1]}"


def _row(curve: Curve, window: int, mark: str) -> tuple[str, ...]:
    at = curve.windows.index(window)
    numbers = (curve.read_ahead_kb, curve.f, curve.pages, curve.g, curve.g_formula)
    timed = _seconds(curve, at) if curve.seconds is not None else ()
    return (str(window), *(str(c[at]) for c in numbers), f"{curve.c_opt[at]:.4g}", *timed, mark)


def _seconds(curve: Curve, at: int) -> tuple[str, str]:
    low, middle, high = (
        None if column is None else column[at]
        for column in (curve.seconds_low, curve.seconds, curve.seconds_high)
    )
    band = "-" if low is None or high is None else f"{low:.3f}-{high:.3f}"
    return seconds_cell(middle), band


def _kb(curve: Curve, window: int) -> int:
    return curve.read_ahead_kb[curve.windows.index(window)]
