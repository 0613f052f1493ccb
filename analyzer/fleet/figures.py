"""The figures of a fleet's report, from its tables."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from foreread.analyzer.fleet.document import (
    FleetBoard,
    FleetBuild,
    FleetFailure,
    FleetFigures,
    FleetOutlier,
    FleetStart,
    FleetUnconfirmed,
    FleetWindow,
)
from foreread.analyzer.fleet.order import BY_BOARD_AND_START, equal
from foreread.analyzer.fleet.tables import rows_of

MOST_STARTS, MOST_ROWS = 200, 50  # rows of a table
_DRIFTING = 6  # starts whose builds are shown
Kind = TypeVar("Kind")

_TOTALS = """
SELECT count(*) AS captures, count(error) AS errors,
       count(DISTINCT board) FILTER (error IS NULL) AS boards,
       list(DISTINCT foreread ORDER BY foreread) AS versions FROM captures
"""
_SAVED = """
SELECT count(*) AS starts, count(*) FILTER (gain > 0.01) AS gaining,
       sum(seconds_now - seconds_proposed) AS saved FROM starts
"""
_BOARDS = """
SELECT board, any_value(board_name) AS board_name, any_value(machine) AS machine,
       any_value(cpu_model) AS cpu_model, count(*) AS starts, sum(captures)::BIGINT AS captures
FROM starts GROUP BY board ORDER BY captures DESC, natural_order(board), board LIMIT ?
"""
_WINDOWS = """
SELECT read_ahead_kb, count(*) FILTER (which = 'now') AS now,
       count(*) FILTER (which = 'proposed') AS proposed
FROM (SELECT now_kb AS read_ahead_kb, 'now' AS which FROM starts WHERE gain IS NOT NULL
      UNION ALL SELECT proposed_kb, 'proposed' FROM starts WHERE gain IS NOT NULL)
WHERE read_ahead_kb IS NOT NULL GROUP BY read_ahead_kb ORDER BY read_ahead_kb LIMIT ?
"""
_SAME_NAMES = """
SELECT board_name FROM starts GROUP BY board_name HAVING count(DISTINCT board) > 1
ORDER BY natural_order(board_name), board_name LIMIT ?
"""
_START_ROWS = f"FROM starts ORDER BY {equal('gain')} DESC NULLS LAST, {BY_BOARD_AND_START} LIMIT ?"
_OUTLIERS = """
SELECT source, board, board_name, start, command, seconds, middle AS median FROM outliers
ORDER BY abs(seconds / middle - 1) DESC, source LIMIT ?
"""
_BUILDS = f"""
WITH most AS (FROM drifts ORDER BY {equal("abs(drift)")} DESC, {BY_BOARD_AND_START} LIMIT ?)
SELECT builds.* REPLACE (strftime(first, '%Y-%m-%d %H:%M') AS first)
FROM builds JOIN most USING (board, start)
ORDER BY {equal("abs(drift)")} DESC, {BY_BOARD_AND_START}, builds.first, build LIMIT ?
"""
_UNCONFIRMED = f"""
FROM unconfirmed
ORDER BY list_position(['contradicted', 'undecided', 'too small', 'not measured'], outcome),
         {equal("predicted")} DESC NULLS LAST, {BY_BOARD_AND_START}, proposed_kb LIMIT ?
"""
_FAILURES = """
SELECT error, any_value(remedy) AS remedy, count(*) AS captures, min(source) AS example
FROM captures WHERE error IS NOT NULL GROUP BY error
ORDER BY captures DESC, error LIMIT ?
"""


def figures(database: Any, store: str) -> FleetFigures:
    """Return the figures of a store with its tables in ``database``."""
    totals = next(rows_of(database, _TOTALS))
    saved = next(rows_of(database, _SAVED))
    return FleetFigures(
        store=store,
        captures=totals["captures"],
        errors=totals["errors"],
        boards=totals["boards"],
        starts=saved["starts"],
        versions=totals["versions"] or [],
        same_names=[row["board_name"] for row in rows_of(database, _SAME_NAMES, MOST_ROWS)],
        saved_seconds=saved["saved"],
        gaining=saved["gaining"],
        board_rows=_structs(database, FleetBoard, _BOARDS, MOST_ROWS),
        windows=_structs(database, FleetWindow, _WINDOWS, MOST_ROWS),
        start_rows=_structs(database, FleetStart, _START_ROWS, MOST_STARTS),
        outliers=_structs(database, FleetOutlier, _OUTLIERS, MOST_ROWS),
        builds=_structs(database, FleetBuild, _BUILDS, _DRIFTING, MOST_STARTS),
        unconfirmed=_structs(database, FleetUnconfirmed, _UNCONFIRMED, MOST_ROWS),
        failures=_structs(database, FleetFailure, _FAILURES, MOST_ROWS),
    )


def _structs(database: Any, kind: type[Kind], query: str, *values: object) -> list[Kind]:
    return [msgspec.convert(row, kind) for row in rows_of(database, query, *values)]
