"""The names that Python looks up without opening them: the sources of its compiled modules.

An import asks for the state of a module's source before it reads the compiled one beside it
(importlib, SourceLoader.get_code; PEP 3147). In an image in the order of its builder both inodes
are neighbours, so that no request shows it; in another order the source's may be far away.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_COMPILED = re.compile(r"(.*/)__pycache__/([^/]+?)\.[^./]+(?:\.opt-[^./]+)?\.pyc")


def source_of(path: str) -> str | None:
    """Return the path of a compiled module's source; None for another file."""
    match = _COMPILED.fullmatch(path)
    return None if match is None else f"{match[1]}{match[2]}.py"


def sources(rows: Mapping[str, int]) -> dict[int, int]:
    """Return rows of sources by those of their compiled modules; ``rows`` are by path."""
    pairs = ((row, source_of(path)) for path, row in rows.items())
    return {row: rows[source] for row, source in pairs if source is not None and source in rows}
