"""What ``foreread fleet report`` prints: which starts gain most, and where the report is."""

from __future__ import annotations

from collections.abc import Iterator

from foreread.analyzer.fleet.document import FleetFigures, FleetStart
from foreread.analyzer.fleet.sections import fleet_doubts, fleet_title
from foreread.boards.base.counted import plural
from foreread.boards.base.printable import printable
from foreread.boards.base.units import kib_text, percent_text
from foreread.cli.text.answer import answer_text, columns, cut
from foreread.cli.text.table import render

_ROWS = 10
_HEAD = ("board", "captures", "now", "then", "s now", "s then", "gain", "confirmed", "start")
_LEFT = frozenset({0})
_LEAST_TEXT = 20  # columns


def fleet_report_text(found: FleetFigures, html: str) -> str:
    """Return the answer of a store's report, which is at ``html``."""
    rows = [_row(one) for one in found.start_rows[:_ROWS]]
    return answer_text(
        [fleet_title(found)],
        [_table(rows)] if rows else [],
        doubts=[*fleet_doubts(found), *_failed(found)],
        basis=[
            f"{plural(found.captures, 'capture')} of {plural(found.starts, 'start')} on "
            f"{plural(found.boards, 'board')}; store: {found.store}"
        ],
        more=f"the report: {html}",
    )


def _failed(found: FleetFigures) -> Iterator[str]:
    if found.errors:
        yield f"{plural(found.errors, 'capture')} could not be analysed"
    against = sum(one.contradicted for one in found.start_rows)
    if against:
        yield f"{plural(against, 'measured result')} of these starts contradict their prediction"


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) + 2 for column in zip(_HEAD, *rows, strict=True)][:-1]
    room = max(columns() - sum(widths), _LEAST_TEXT)
    return render(_HEAD, [(*row[:-1], cut(row[-1], room)) for row in rows], _LEFT)


def _row(one: FleetStart) -> tuple[str, ...]:
    gain = percent_text(one.gain)
    windows = (kib_text(kb, "-") for kb in (one.now_kb, one.proposed_kb))
    seconds = (
        "-" if value is None else f"{value:.3f}"
        for value in (one.seconds_now, one.seconds_proposed)
    )
    texts = (cut(printable(one.board_name), _LEAST_TEXT), str(one.captures))
    return (*texts, *windows, *seconds, gain, str(one.confirmed), printable(one.command))
