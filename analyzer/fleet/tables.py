"""Tables of a fleet's report, made by DuckDB from a store's rows in bounded memory.

Each source counts once: of several analyses the newest one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from foreread.analyzer.fleet.error import FleetError
from foreread.analyzer.fleet.order import NATURAL
from foreread.analyzer.fleet.store import Store

FEWEST = 5  # captures of a start on a board of which one can be an outlier
APART = 0.05  # share of the median that an outlier, or a drift, differs by at least

_CAPTURES = """
CREATE TEMP TABLE captures AS
SELECT board, start, source, board_name, machine, cpu_model, command, kernel, build, created,
       foreread, verdict, now_kb, proposed_kb, requests_now, seconds_now, seconds_proposed, gain,
       confirmation, confirmed_kb, confirmed_gain, error, remedy
FROM {rows}
WHERE row = 'capture'
QUALIFY row_number() OVER (PARTITION BY hash(source), source ORDER BY analysed DESC, key) = 1
"""

# A robust outlier: 3 standard deviations, estimated from the median absolute deviation (1.4826).
_OUTLIERS = f"""
CREATE TEMP TABLE outliers AS
WITH middles AS (
    SELECT board, start, median(seconds_now) AS middle, mad(seconds_now) AS spread
    FROM captures WHERE seconds_now IS NOT NULL
    GROUP BY ALL HAVING count(*) >= {FEWEST}
)
SELECT board, start, source, board_name, command, seconds_now AS seconds, middle
FROM captures JOIN middles USING (board, start)
WHERE abs(seconds_now - middle) > greatest(3 * 1.4826 * spread, {APART} * middle)
"""

_BUILDS = """
CREATE TEMP TABLE builds AS
SELECT board, start, build, any_value(board_name) AS board_name, any_value(command) AS command,
       any_value(kernel) AS kernel, min(created) AS first, count(*) AS captures,
       median(seconds_now) AS seconds, median(requests_now) AS requests
FROM captures WHERE seconds_now IS NOT NULL
GROUP BY board, start, build
"""

_DRIFTS = """
CREATE TEMP TABLE drifts AS
SELECT board, start, arg_max(seconds, first) / arg_min(seconds, first) - 1 AS drift
FROM builds GROUP BY ALL HAVING count(*) > 1
"""

_STARTS = """
CREATE TEMP TABLE starts AS
WITH proposals AS (
    SELECT board, start, mode(proposed_kb ORDER BY proposed_kb) AS proposed_kb
    FROM captures WHERE proposed_kb IS NOT NULL GROUP BY ALL
), grouped AS (
    SELECT board, start, any_value(board_name) AS board_name, any_value(machine) AS machine,
           any_value(cpu_model) AS cpu_model, any_value(command) AS command,
           count(*) AS captures, count(DISTINCT build) AS builds,
           mode(now_kb ORDER BY now_kb) AS now_kb, any_value(p.proposed_kb) AS proposed_kb,
           count(*) FILTER (c.proposed_kb = p.proposed_kb) / nullif(count(c.proposed_kb), 0)
               AS agreeing,
           median(seconds_now) FILTER (gain IS NOT NULL) AS seconds_now,
           median(seconds_proposed) FILTER (gain IS NOT NULL) AS seconds_proposed,
           median(gain) AS gain, count(*) FILTER (verdict = 'measure') AS measure,
           count(*) FILTER (confirmation = 'confirmed' AND confirmed_kb = c.proposed_kb)
               AS confirmed,
           count(*) FILTER (confirmation = 'contradicted' AND confirmed_kb = c.proposed_kb)
               AS contradicted,
           count(*) FILTER (confirmation IN ('undecided', 'too small')
                            AND confirmed_kb = c.proposed_kb) AS undecided
    FROM captures c LEFT JOIN proposals p USING (board, start)
    WHERE error IS NULL GROUP BY board, start
), apart AS (SELECT board, start, count(*) AS outliers FROM outliers GROUP BY ALL)
SELECT grouped.*, coalesce(outliers, 0) AS outliers, drift
FROM grouped LEFT JOIN apart USING (board, start) LEFT JOIN drifts USING (board, start)
"""

# A recommended window that no capture of its start proves, by outcome.
_UNCONFIRMED = """
CREATE TEMP TABLE unconfirmed AS
WITH outcomes AS (
    SELECT board, start, any_value(board_name) AS board_name, any_value(command) AS command,
           proposed_kb,
           CASE WHEN confirmed_kb = proposed_kb THEN confirmation ELSE 'not measured' END
               AS outcome,
           median(gain) AS predicted, median(confirmed_gain) AS measured, count(*) AS captures
    FROM captures WHERE verdict = 'set' AND gain IS NOT NULL AND proposed_kb IS NOT NULL
    GROUP BY board, start, proposed_kb, outcome
)
SELECT * FROM outcomes o
WHERE NOT EXISTS (
    FROM outcomes c WHERE (c.board, c.start, c.proposed_kb) = (o.board, o.start, o.proposed_kb)
    AND c.outcome = 'confirmed')
"""


@contextmanager
def tables(store: Store) -> Iterator[Any]:
    """Yield a DuckDB connection with the tables of the report; raises FleetError without rows."""
    if not store.has_rows():
        raise FleetError(
            f"{store.place.address} has no capture",
            f"add some: foreread fleet analyse SRC -o {store.place.address}",
        )
    with store.database() as database:
        for statement in (NATURAL, _CAPTURES, _OUTLIERS, _BUILDS, _DRIFTS, _STARTS, _UNCONFIRMED):
            database.execute(statement.replace("{rows}", store.rows_sql()))
        yield database


def rows_of(database: Any, query: str, *values: object) -> Iterator[dict[str, Any]]:
    """Yield the rows of a query, by column."""
    result = database.execute(query, values)
    names = [column[0] for column in result.description]
    for row in result.fetchall():
        yield dict(zip(names, row, strict=True))
