"""Cold runs on a machine where others read files."""

from __future__ import annotations

import re

from foreread.tracer.formats.capture import Cold


def is_cold_but_for_others(cold: Cold) -> bool:
    """Return whether the run's own files were not cached, and the proof counts pages of others."""
    counted = re.search(r"(\d+) others, (\d+) allowed", cold.how)
    assert counted, cold.how
    others, allowed = map(int, counted.groups())
    return "still cached" not in cold.how and cold.proven == (others <= allowed)
