"""The table of loads that ``foreread predict --load`` prints."""

from __future__ import annotations

from collections.abc import Iterator

from foreread.analyzer.predict.beside import LoadRow, Loads
from foreread.analyzer.predict.prediction import Reference, Verdict
from foreread.boards.base.printable import printable
from foreread.boards.base.units import KIB, kib_text, percent_text, size_text
from foreread.cli.text.table import render, seconds_cell

_LEFT = frozenset({0, 1})


def loads_text(loads: Loads, verdict: Verdict, reference: Reference) -> str:
    """Return one row a load, and all weighted: its own verdict, and the seconds of the windows that
    the verdicts compare, with their change against the reference window.
    """
    windows = {loads.reference_kb: ["now" if reference.in_force else reference.name]}
    for kb, whose in ((loads.idle_kb, "idle's"), (verdict.read_ahead_kb, "all's")):
        if kb is not None:
            windows.setdefault(kb, []).append(whose)
    shown = [kb for kb in windows if kb in loads.read_ahead_kb]
    head = ["beside", "its own verdict", "fastest"]
    head += [f"{kib_text(kb)} ({', '.join(windows[kb])})" for kb in shown]
    rows = [_row(loads, row, shown) for row in loads.rows if row.predicted]
    if loads.weighted and len(loads.names) > 1:
        means = dict(zip(loads.read_ahead_kb, loads.weighted, strict=True))
        answer = f"{verdict.action} {kib_text(verdict.read_ahead_kb)}"
        fastest = kib_text(min(means, key=means.__getitem__))
        rows.append(["all, weighted", answer, fastest, *_cells(loads, means, shown)])
    table = render([*head, ""], [[*row, ""] for row in rows], _LEFT) if rows else ""
    absent = [
        printable(f"{row.load}: not predicted: {row.why}")
        for row in loads.rows
        if not row.predicted
    ]
    return "\n".join(filter(None, [table, *absent, *_memory(loads, shown)]))


def _memory(loads: Loads, shown: list[int]) -> Iterator[str]:
    """Yield the memory that the start needs, and what it reads again with less."""
    need = loads.need
    if need is None:
        return
    places = {kb: loads.read_ahead_kb.index(kb) for kb in shown}
    files = ", ".join(
        f"{size_text(need.files_kib[at] * KIB)} at {kib_text(kb)}" for kb, at in places.items()
    )
    own = "unknown" if need.own_kib is None else size_text(need.own_kib * KIB)
    yield f"memory of the program: {own}; of its files: {files}"
    if need.least_kib is not None:
        least = size_text(need.least_kib * KIB)
        yield f"no page is read twice at {kib_text(shown[-1])} with {least} or more"
    idle = loads.rows[0].pages
    for row in loads.rows:
        again = {kb: row.pages[at] - idle[at] for kb, at in places.items() if row.pages}
        if row.memory_kib is not None and any(pages > 0 for pages in again.values()):
            each = ", ".join(f"{max(pages, 0):,} at {kib_text(kb)}" for kb, pages in again.items())
            yield printable(f"{row.load}: pages read again: {each}")
    if need.record is not None:
        yield (
            "more may be read, since the capture does not show which pages are used again; a "
            "recording in little memory does:"
        )
        yield printable(f"  {need.record}")


def _row(loads: Loads, row: LoadRow, shown: list[int]) -> list[str]:
    own = row.action if row.read_ahead_kb is None else f"{row.action} {kib_text(row.read_ahead_kb)}"
    name = row.load if row.weight == 1 else f"{row.load} (weight {row.weight:g})"
    return [name, own, kib_text(row.best_kb), *_cells(loads, loads.seconds_of(row.load), shown)]


def _cells(loads: Loads, seconds: dict[int, float], shown: list[int]) -> list[str]:
    """Return the seconds of windows; but for the reference window, with the change against it."""
    now = seconds.get(loads.reference_kb)
    return [
        seconds_cell(seconds[kb])
        if now is None or kb == loads.reference_kb
        else f"{seconds_cell(seconds[kb])}, {percent_text(seconds[kb] / now - 1, 0, signed=True)}"
        for kb in shown
    ]
