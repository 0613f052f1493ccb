"""The extra time to the driver of a page read alone, compared with one read by readahead.

At window 0 a fault reads its page by ->read_folio, which has no plug: block/blk-mq.c then leaves
the request to the device's queue, where it may wait for a kernel worker. Readahead has a plug, and
issues its requests itself when that ends. A read(2) at window 0 is forced readahead, flagged so
from Linux 5.10 on: hence a capture at window 0 has reads of both kinds.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Kind, Rwbs
from foreread.emulator.linux.operations import Op
from foreread.emulator.linux.requests import SECTOR
from foreread.emulator.linux.steps import Run, Timed

_FEWEST = 5  # reads of each kind


def unplugged_ns(recording: Recording, disk: int, own: Array) -> float:
    """Return how much longer a page read alone takes from its bio to the driver; 0 if not known.

    From medians of the application's one-page reads of both kinds on one disk (dev_t), which are at
    the sectors ``own``.
    """
    events, sectors = recording.trace.events, recording.page_size // SECTOR
    of_page = (events["dev"] == disk) & (events["value"] == sectors) & np.isin(events["index"], own)
    kinds = (Kind.BIO_QUEUE, Kind.RQ_ISSUE)  # each page is read once
    bios, issues = (events.take(of_page & (events["kind"] == kind)) for kind in kinds)
    _, first, second = np.intersect1d(bios["index"], issues["index"], return_indices=True)
    took = issues["time_ns"][second].astype(np.float64) - bios["time_ns"][first]
    ahead = (bios["flags"][first] & Rwbs.AHEAD) > 0
    if min(ahead.sum(), (~ahead).sum()) < _FEWEST:
        return 0.0
    return max(float(np.median(took[~ahead]) - np.median(took[ahead])), 0.0)


def with_plugs(run: Run, recorded: Timed, unplugged: float) -> Run:
    """Return the run without the extra waits of faults without plug; ``recorded`` has its reads."""
    steps = run.steps.copy()
    read = np.flatnonzero(recorded.work[:, 0] > 0)
    operation = steps["operation"][read]
    op = run.program.operations["op"][operation]
    missed = read[(operation >= 0) & (op == Op.FAULT)]
    steps["cpu_ns"][missed] = np.maximum(steps["cpu_ns"][missed] - unplugged, 0.0)
    return replace(run, steps=steps)
