"""The report's map of window × load or memory: the seconds of the start in each case."""

from __future__ import annotations

from foreread.analyzer.predict.beside import LoadRow, Loads
from foreread.analyzer.report.blocks import Block, Bullets, Column, Table
from foreread.analyzer.report.subject import Subject
from foreread.analyzer.report.wording import seconds
from foreread.boards.base.units import kib_text, percent_text

SHADES = (0.02, 0.1, 0.25, 0.5)  # parts of the fastest window's seconds beside the same load
_OCTAVES = {0, *(1 << n for n in range(21))}  # KiB


def by_load(subject: Subject) -> list[Block]:
    """Return the map, and which loads are not predicted; nothing where no load was given."""
    loads = subject.prediction.loads
    if loads is None:
        return []
    rows = [row for row in loads.rows if row.predicted]
    absent = [f"{row.load}: not predicted: {row.why}." for row in loads.rows if not row.predicted]
    return [
        *([_map(subject, loads, rows)] if rows else []),
        *([Bullets(absent)] if absent else []),
    ]


def _map(subject: Subject, loads: Loads, rows: list[LoadRow]) -> Table:
    """Return windows × loads: the seconds, and what the window costs more than the fastest."""
    wanted = {loads.reference_kb, loads.idle_kb, subject.window_kb, *_OCTAVES}
    wanted |= {row.best_kb for row in rows}
    places = [place for place, kb in enumerate(loads.read_ahead_kb) if kb in wanted]
    slower = [[cost / min(row.seconds) - 1 for cost in row.seconds] for row in rows]
    cells = [
        [kib_text(loads.read_ahead_kb[place]), *(_cell(row, place) for row in rows)]
        for place in places
    ]
    shades = {
        (line, column): sum(costs[place] > most for most in SHADES)
        for line, place in enumerate(places)
        for column, costs in enumerate(slower, 1)
    }
    columns = [Column("window", "left"), *(Column(row.load) for row in rows)]
    marked = {line for line, row in enumerate(cells) if row[0] == kib_text(subject.window_kb)}
    return Table(columns, cells, _caption(subject, loads, rows), frozenset(marked), shades)


def _cell(row: LoadRow, place: int) -> str:
    slower = row.seconds[place] / min(row.seconds) - 1
    more = "" if slower < SHADES[0] else f" {percent_text(slower, 0, signed=True)}"
    return f"{seconds(row.seconds[place]).removesuffix(' s')}{more}"


def _caption(subject: Subject, loads: Loads, rows: list[LoadRow]) -> str:
    never = ", ".join(kib_text(kb) for kb in loads.refused_kb if kb in _OCTAVES)
    refused = (
        f" Never set, since slower than {kib_text(loads.reference_kb)} by more than 3 % in one "
        f"of these cases: {never}."
        if never
        else ""
    )
    kinds = {"memory" if row.memory_kib is not None else "load" for row in rows[1:]}
    cases = " or ".join(sorted(kinds)) or "load"
    return (
        f"Predicted seconds by window and {cases}, and what the window costs more than the fastest "
        "in the same case; the darker, the more. The window of the answer, "
        f"{kib_text(subject.window_kb)}, is marked.{refused}"
    )
