"""The window in force, as the readahead events of a trace have it: ra_pages of each open file.

Linux 6.18 and 6.19 (include/trace/events/readahead.h). ra_pages is that of the file's backing
device when it was opened, or twice that after POSIX_FADV_SEQUENTIAL (mm/fadvise.c): so the
commonest value of a file system counts.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from foreread.analyzer.ingest.accesses import group_pairs
from foreread.analyzer.ingest.recording import SeenWindows, Trace, TraceError
from foreread.analyzer.ingest.tables import Array

if TYPE_CHECKING:
    from foreread.analyzer.ingest.text_lines import Text

# What foreread export writes (analyzer/export/tracedat_formats.py).
_OWN = "foreread:file_system"
WINDOW_EVENTS = ("page_cache_sync_ra", "page_cache_ra_order", "page_cache_async_ra")
_EVENTS = (*(f"readahead:{name}" for name in WINDOW_EVENTS), _OWN)
WINDOW_DEV, WINDOW_PAGES, _TYPE = "s_dev", "ra_pages", "fstype"  # fields
_MOST = 1 << 20  # pages, far above any window
_LINE = re.compile(
    rb"\b(page_cache_(?:sync_ra|ra_order|async_ra)|file_system):[ \t]*([^\n]{1,1024})"
)


def windows_of_text(text: Text) -> SeenWindows | None:
    """Return the windows in the lines of a text trace; None without any."""
    from foreread.analyzer.ingest.text_events import window_in  # noqa: PLC0415  (for texts only)

    counts: Counter[tuple[int, int]] = Counter()
    event = ""
    for name, payload in _LINE.findall(text):
        row = window_in(payload)
        if row is not None:
            event = event or name.decode()
            counts[row] += 1
    return commonest(event, counts)


def windows_of(trace: Trace) -> SeenWindows | None:
    """Return the windows that the events of a trace have; None without any."""
    if trace.windows is not None or trace.read_fields is None:
        return trace.windows
    for event in _EVENTS:
        if event not in trace.event_names:
            continue
        with suppress(TraceError):  # kernels without the field
            columns = trace.read_fields(event, (WINDOW_DEV, WINDOW_PAGES))
            counts = _counted(columns[WINDOW_DEV], columns[WINDOW_PAGES])
            windows = commonest(event.partition(":")[2], counts)
            if windows is not None:
                return windows
    return None


def types_of(trace: Trace) -> dict[int, str]:
    """Return the types of file systems in a trace that foreread exported, by dev_t."""
    if trace.read_fields is None or _OWN not in trace.event_names:
        return {}
    with suppress(TraceError):
        columns = trace.read_fields(_OWN, (WINDOW_DEV, _TYPE))
        rows = zip(columns[WINDOW_DEV].tolist(), columns[_TYPE].tolist(), strict=True)
        return {dev: fstype.decode(errors="replace") for dev, fstype in rows if fstype}
    return {}


def commonest(event: str, counts: Mapping[tuple[int, int], int]) -> SeenWindows | None:
    """Return the commonest window of each file system; of equally common ones, the first.

    ``counts`` counts (dev_t, pages), in order of their first event.
    """
    by_dev: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for (dev, pages), count in counts.items():
        if 0 <= pages <= _MOST:
            by_dev[dev][pages] += count
    windows = {dev: pages.most_common(1)[0][0] for dev, pages in by_dev.items()}
    return SeenWindows(event, windows) if windows else None


def _counted(dev: Array, pages: Array) -> dict[tuple[int, int], int]:
    """Return how often each pair occurs, in order of the first occurrences."""
    first, group = group_pairs(dev, pages)
    counts = np.bincount(group, minlength=len(first)).tolist()
    pairs = zip(dev[first].tolist(), pages[first].tolist(), strict=True)
    in_time = sorted(zip(first.tolist(), pairs, counts, strict=True))
    return {pair: count for _, pair, count in in_time}
