"""What ``foreread advise --boards`` prints: each start on storage parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foreread.analyzer.advise.parts import CAPTURED
from foreread.analyzer.advise.parts_document import (
    PartRow,
    PartsDocument,
    PartSeconds,
    StartOnParts,
)
from foreread.analyzer.predict.linux import release_of
from foreread.boards.base.counted import plural
from foreread.boards.base.printable import printable
from foreread.boards.base.units import kib_text, percent_text
from foreread.cli.text.answer import answer_text
from foreread.cli.text.table import plus_minus, render, render_cut, seconds_cell

_LEAST_SOURCE = 20  # columns
_WITHIN = {"now": "yes", "window": "with the window", "no": "no"}


def parts_text(document: PartsDocument, *, verbose: bool) -> str:
    """Return the table of each start; ``verbose``: and the cost of each part."""
    starts = document.starts
    return answer_text(
        [line for start in starts for line in _answer(start)] + list(_limit(document)),
        [_table(start, document.within) for start in starts] + [_figures(document.parts, verbose)],
        doubts=_doubts(starts, verbose),
        basis=list(_basis(document)),
        more="--verbose (the cost of each part, the rows of each doubt)",
        verbose=verbose,
    )


def _answer(start: StartOnParts) -> Iterator[str]:
    """Yield what a faster part saves, and what the window is worth without one."""
    rows = {row.part: row for row in start.rows if row.seconds_now is not None}
    if not rows:
        yield f"{start.name}: {start.rows[0].why}"
        return
    present = rows.get(None, max(rows.values(), key=_seconds_now))
    fastest = min(rows.values(), key=_seconds_now)
    text = f"{start.name}: {seconds_cell(present.seconds_now)} s on {_name(present)}"
    if present.seconds_now != fastest.seconds_now:
        text += f", {seconds_cell(fastest.seconds_now)} s on {_name(fastest)}"
    yield f"{text}, at {start.read_ahead_kb_now:,} KiB"
    if present.saved:
        worth = _worth(present)
        yield (
            f"  {kib_text(present.read_ahead_kb)} on {_name(present)}: "
            f"{seconds_cell(present.seconds)} s{f', {worth}' if worth else ''}"
        )


def _seconds_now(row: PartSeconds) -> float:
    return row.seconds_now or 0.0


def _limit(document: PartsDocument) -> Iterator[str]:
    if document.within is None:
        return
    limit = f"{document.within:g} s"
    if document.slowest_within is None:
        yield f"no part keeps every start within {limit}"
    else:
        yield f"slowest part that keeps every start within {limit}: {document.slowest_within}"


def _table(start: StartOnParts, within: float | None) -> str:
    """Return the table of a start, and why parts have no seconds."""
    head = ["part", "seconds now", "window", "seconds then", "saves"]
    head += [] if within is None else [f"within {within:g} s"]
    rows = [_row(row) for row in start.rows if row.seconds is not None]
    captures = f", {plural(start.captures, 'capture')}" if start.captures > 1 else ""
    lines = [f"{printable(start.name)} ({start.read_ahead_kb_now:,} KiB now{captures})"]
    lines += [render([*head, "the window is worth"], rows, left=frozenset({0}))] if rows else []
    return "\n".join([*lines, *map(printable, _unpredicted(start))])


def _unpredicted(start: StartOnParts) -> Iterator[str]:
    """Yield each reason once, with its parts; what to type is about the recorded disk."""
    without = [row for row in start.rows if row.seconds is None]
    for why in dict.fromkeys(row.why for row in without):
        rows = [row for row in without if row.why == why]
        yield f"{', '.join(map(_name, rows))}: {why}"
        yield from (f"  run: {row.remedy}" for row in rows if row.part is None and row.remedy)


def _row(row: PartSeconds) -> list[str]:
    cells = [
        _name(row),
        _with_band(row.seconds_now, row.seconds_now_high),
        kib_text(row.read_ahead_kb),
        _with_band(row.seconds, row.seconds_high),
        "-" if row.saved is None or row.band is None else _plus_minus(row.saved, row.band),
    ]
    cells += [] if row.within is None else [_WITHIN[row.within]]
    return [*cells, _worth(row)]


def _with_band(seconds: float | None, high: float | None) -> str:
    return "-" if seconds is None or high is None else _plus_minus(seconds, high - seconds)


def _plus_minus(seconds: float, half_width: float) -> str:
    return f"{seconds:.3f} {plus_minus(half_width)}"


def _worth(row: PartSeconds) -> str:
    """Return what the window of a part is worth, in faster parts that keep the window now."""
    if row.as_fast_as is not None:
        return f"as fast as {row.as_fast_as}"
    if row.next_part is None or row.of_next is None or row.of_next <= 0:
        return ""
    return f"{percent_text(row.of_next, 0)} of the way to {row.next_part}"


def _name(row: PartSeconds) -> str:
    return CAPTURED if row.part is None else row.part


def _figures(parts: Sequence[PartRow], verbose: bool) -> str:
    """Return where the figures of each part are from; ``verbose``: and what a request costs."""
    if verbose:
        cells = [(part.name, part.obtained, f"{part.cost} ({part.source})") for part in parts]
        return render(("part", "figures", "cost of a request"), cells, left=frozenset({0, 1}))
    cells = [(part.name, part.obtained, part.source) for part in parts]
    return render_cut(("part", "figures", "source"), cells, _LEAST_SOURCE, frozenset({0, 1}))


def _doubts(starts: Sequence[StartOnParts], verbose: bool) -> Iterator[str]:
    """Yield each doubt once, with the number of its rows; ``verbose``: with their names."""
    about: dict[str, list[str]] = {}
    for start in starts:
        for row in start.rows:
            for doubt in row.doubts:
                about.setdefault(doubt, []).append(f"{start.name} on {_name(row)}")
    for doubt, rows in about.items():
        yield f"{doubt} ({'; '.join(rows) if verbose else plural(len(rows), 'row')})"


def _basis(document: PartsDocument) -> Iterator[str]:
    kernels = dict.fromkeys(release_of(start.model) for start in document.starts)
    yield (
        "the starts replayed on each part with the recorded processor, by the readahead of Linux "
        f"{', '.join(kernels)}"
    )
    yield "a window is the one that foreread predict --device-model PART proposes"
