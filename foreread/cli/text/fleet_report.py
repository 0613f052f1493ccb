"""What ``foreread fleet report`` prints: which starts gain most, and where the report is."""

from __future__ import annotations

from collections.abc import Iterator

from foreread.analyzer.fleet.document import FleetFigures, FleetStart
from foreread.analyzer.fleet.sections import fleet_doubts, fleet_title
from foreread.boards.base.counted import plural
from foreread.boards.base.printable import printable
from foreread.boards.base.units import kib_text, percent_text
from foreread.cli.text.answer import answer_text, cut
from foreread.cli.text.table import render_cut, seconds_cell

_ROWS = 10
_HEAD = ("board", "captures", "now", "then", "s now", "s then", "gain", "confirmed", "start")
_LEFT = frozenset({0})
_LEAST_TEXT = 20  # columns


def fleet_report_text(figures: FleetFigures, html: str) -> str:
    """Return the answer of a store's report, which is at ``html``."""
    rows = [_row(start) for start in figures.start_rows[:_ROWS]]
    return answer_text(
        [fleet_title(figures)],
        [render_cut(_HEAD, rows, _LEAST_TEXT, _LEFT)] if rows else [],
        doubts=[*fleet_doubts(figures), *_failed(figures)],
        basis=[
            f"{plural(figures.captures, 'capture')} of {plural(figures.starts, 'start')} on "
            f"{plural(figures.boards, 'board')}; store: {figures.store}"
        ],
        more=f"the report: {html}",
    )


def _failed(figures: FleetFigures) -> Iterator[str]:
    if figures.errors:
        yield f"{plural(figures.errors, 'capture')} could not be analysed"
    against = sum(start.contradicted for start in figures.start_rows)
    if against:
        yield f"{plural(against, 'measured result')} of these starts contradict their prediction"


def _row(start: FleetStart) -> tuple[str, ...]:
    windows = (kib_text(kb, "-") for kb in (start.now_kb, start.proposed_kb))
    seconds = map(seconds_cell, (start.seconds_now, start.seconds_proposed))
    texts = (cut(printable(start.board_name), _LEAST_TEXT), str(start.captures))
    gain = (percent_text(start.gain), str(start.confirmed))
    return (*texts, *windows, *seconds, *gain, start.command)
