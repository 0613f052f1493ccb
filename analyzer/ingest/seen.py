"""The facts that a recorder needs from the trace it has just made; the trace is decoded once."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from analyzer.ingest.accesses import of_threads, process_tree
from analyzer.ingest.interpret import dev_of
from analyzer.ingest.isolated import call
from analyzer.ingest.load import events_of, inodes_in
from analyzer.ingest.requests import find_requests
from analyzer.ingest.tables import Rwbs, Table
from tracer.formats.capture import dev_text

Reads = dict[str, list[tuple[int, int]]]  # (first sector, sectors) by the disk's "major:minor"


class SeenTrace:
    """The inodes and the reads in a trace directory: callbacks for
    ``tracer.local.record.record``."""

    def __init__(self) -> None:
        self._directory: Path | None = None
        self._events: Table | None = None

    def inodes(self, directory: Path) -> set[tuple[int, int]]:
        """Return the (dev_t, inode) pairs of all page-cache events."""
        return inodes_in(self._decoded(directory))

    def reads(self, directory: Path, pid: int) -> Reads:
        """Return the reads of process ``pid``, the command's first, and of its descendants."""
        events = self._decoded(directory)
        requests = find_requests(events)
        own = of_threads(requests, process_tree(events, {pid}))
        reads = requests.take(own & ((requests["flags"] & Rwbs.READ) > 0))
        by_disk: Reads = {}
        for dev in np.unique(reads["dev"]).tolist():
            of_disk = reads.take(reads["dev"] == dev)
            places = zip(of_disk["sector"].tolist(), of_disk["sectors"].tolist(), strict=True)
            by_disk[dev_text(dev)] = [place for place in places if place[1]]
        return by_disk

    def timed(self, directory: Path, dev: str) -> list[tuple[int, int, int, int]]:
        """Return all reads of a disk: sector, sectors, issue and completion (ns; 0 if unseen)."""
        requests = find_requests(self._decoded(directory))
        wanted = (requests["dev"] == dev_of(dev)) & ((requests["flags"] & Rwbs.READ) > 0)
        columns = ("sector", "sectors", "issue_ns", "complete_ns")
        return list(zip(*(requests[name][wanted].tolist() for name in columns), strict=True))

    def _decoded(self, directory: Path) -> Table:
        if self._events is None or self._directory != directory:
            self._directory, self._events = directory, call(events_of, directory)
        return self._events
