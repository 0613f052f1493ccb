"""Pages that the kernel reclaimed during a recorded run, and what that shows."""

from __future__ import annotations

import numpy as np

from foreread.analyzer.ingest.accesses import page_key, rows_of
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Kind

# Of the pages. With two thirds a start of Python's modules in 32 MiB was predicted no better than
# without; with 94 and 99 % others were (studies/accuracy/memory.md).
_MOST = 0.85


def shows_later_uses(recording: Recording) -> bool:
    """Return whether a run had so little memory that the kernel reclaimed most of its pages.

    A page that is used again after that is read again, which the recording shows. So what it does
    not show to be used again was not, but for the few pages that stayed.
    """
    events, accesses = recording.trace.events, recording.accesses
    deleted = np.flatnonzero(events["kind"] == Kind.DELETE)
    if not len(deleted) or not accesses.rows:
        return False
    columns = {name: events[name].take(deleted) for name in ("dev", "ino", "index")}
    file, is_known = rows_of(recording.files, columns)
    gone = page_key(file[is_known], columns["index"][is_known])
    own = page_key(accesses["file"], accesses["page"])
    return bool(np.isin(own, gone).mean() > _MOST)
