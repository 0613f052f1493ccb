"""Examples of SQL for a store, to be run by DuckDB: they are in the report and in queries.sql."""

from __future__ import annotations

from foreread.analyzer.fleet.order import NATURAL
from foreread.analyzer.fleet.store import rows_sql


def setup(address: str) -> str:
    """Return the statements that name the rows of the store at an address, and order names."""
    return f"CREATE VIEW fleet AS FROM {rows_sql(address)};\n{NATURAL}"


QUERIES = (
    (
        "The window of each board: the fewest seconds over all its starts, each with one vote",
        """\
WITH starts AS (
    SELECT board, start, read_ahead_kb, avg(seconds) AS seconds
    FROM fleet WHERE row = 'window' AND seconds IS NOT NULL GROUP BY ALL
), windows AS (
    SELECT board, read_ahead_kb, sum(seconds) AS seconds, count(*) AS complete
    FROM starts GROUP BY board, read_ahead_kb
    QUALIFY complete = max(complete) OVER (PARTITION BY board)
)
SELECT board, arg_min(read_ahead_kb, seconds) AS read_ahead_kb, min(seconds) AS seconds
FROM windows GROUP BY board ORDER BY natural_order(board), board;""",
    ),
    (
        "Starts that lose most by a window of 128 KiB for all",
        """\
SELECT board, start, avg(seconds) FILTER (read_ahead_kb = 128) AS at_128,
       avg(seconds_proposed) FILTER (row = 'capture') AS proposed
FROM fleet GROUP BY board, start HAVING at_128 > proposed
ORDER BY at_128 / proposed DESC, natural_order(board), natural_order(start) LIMIT 20;""",
    ),
    (
        "Errors, and how many captures have each",
        """\
SELECT error, remedy, count(*) AS captures FROM fleet
WHERE error IS NOT NULL GROUP BY ALL ORDER BY captures DESC;""",
    ),
    (
        "Seconds by build, in the order of the recordings",
        """\
SELECT board, start, build, min(created) AS first, count(*) AS captures,
       median(seconds_now) AS seconds
FROM fleet WHERE row = 'capture' GROUP BY board, start, build
ORDER BY natural_order(board), natural_order(start), first;""",
    ),
    (
        "Windows that a measurement contradicts",
        """\
SELECT board, start, source, proposed_kb, gain, confirmed_gain FROM fleet
WHERE row = 'capture' AND confirmation = 'contradicted' AND confirmed_kb = proposed_kb
ORDER BY natural_order(board), natural_order(start);""",
    ),
    (
        "Where a fleet's processor time goes",
        """\
SELECT date_trunc('day', analysed) AS day, count(*) AS captures, sum(cpu_seconds) AS cpu_seconds,
       sum(bytes) AS bytes
FROM fleet WHERE row = 'capture' GROUP BY ALL ORDER BY day;""",
    ),
)


def script(address: str) -> str:
    """Return all examples as a script for ``duckdb < queries.sql``."""
    parts = [f"-- {title}.\n{query}" for title, query in QUERIES]
    return "\n\n".join([setup(address), *parts]) + "\n"
