"""What callers give to the loaders, checked: a type checker does not run in a notebook."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, cast

from foreread.analyzer.ingest.page_size import is_page_size
from foreread.analyzer.ingest.recording import TraceError

Pids = Literal["tree", "all"] | frozenset[int]
StrPath = str | os.PathLike[str]


def checked_path(path: object) -> Path:
    """Return the path; raises TraceError if it is invalid."""
    if not isinstance(path, (str, os.PathLike)):
        raise TraceError(f"not a path: {path!r}", "give the path of a capture or of a trace file")
    return Path(path)


def checked_pids(pids: object) -> Pids:
    """Return the choice of threads; raises TraceError if it is invalid."""
    if isinstance(pids, str) and pids in ("tree", "all"):
        return cast(Literal["tree", "all"], pids)
    if isinstance(pids, frozenset) and all(isinstance(pid, int) for pid in pids):
        return pids
    raise TraceError(
        f"cannot choose threads by {pids!r}",
        'give pids="tree", pids="all", or a frozenset of thread ids',
    )


def checked_page_size(page_size: object) -> int | None:
    """Return the page size, None for none given; raises TraceError if it is invalid."""
    if page_size is None or (isinstance(page_size, int) and is_page_size(page_size)):
        return page_size
    raise TraceError(
        f"no kernel has pages of {page_size!r} bytes", "give 4096, 8192, 16384, 32768 or 65536"
    )
