"""The order in which boards and starts are listed: numbers in names count as numbers."""

from __future__ import annotations

# board-2 comes before board-10. Names that differ by leading zeros only need a second key, the
# name itself.
NATURAL = """\
CREATE TEMP MACRO natural_order(name) AS [
    CASE WHEN part[1] BETWEEN '0' AND '9' THEN lpad(part, greatest(length(part), 80)::INT, '0')
         ELSE part END
    FOR part IN regexp_extract_all(name, '[0-9]+|[^0-9]+')];"""

# Keys of ORDER BY.
BY_BOARD_AND_START = "natural_order(board), natural_order(start), board, start"


def equal(gain: str) -> str:
    """Return the SQL of a share as tables show it: shares that look equal are not ordered by it."""
    return f"round({gain}, 3)"
