"""The facts that a recorder needs from the trace it has just made; the trace is decoded once."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import numpy as np

from foreread.analyzer.ingest.accesses import of_threads, process_tree
from foreread.analyzer.ingest.isolated import call
from foreread.analyzer.ingest.load import events_of, inodes_in
from foreread.analyzer.ingest.requests import find_requests
from foreread.analyzer.ingest.tables import Rwbs, Table
from foreread.tracer.formats.capture import dev_of, dev_text
from foreread.tracer.formats.seen import Seen

Row = tuple[int, int, int, int]  # sector, sectors, issue and completion in ns (0 if unseen)


class SeenTrace:
    """A trace directory that has just been written."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def seen(self, pids: Iterable[int], reads: bool) -> Seen:
        """Return the inodes and, with ``reads``, the reads of the processes ``pids``."""
        inodes: set[tuple[int, int]] = set()
        by_disk: dict[str, list[tuple[int, int]]] = {}
        try:
            inodes = inodes_in(self._events)
            for pid in pids if reads else ():
                self._add_reads(pid, by_disk)
        except ValueError as error:
            return Seen(inodes, {} if reads else None, error)
        return Seen(inodes, by_disk if reads else None)

    def timed(self, dev: str) -> list[Row]:
        """Return all reads of the disk "major:minor"."""
        requests = self._requests
        wanted = (requests["dev"] == dev_of(dev)) & ((requests["flags"] & Rwbs.READ) > 0)
        columns = ("sector", "sectors", "issue_ns", "complete_ns")
        return list(zip(*(requests[name][wanted].tolist() for name in columns), strict=True))

    def _add_reads(self, pid: int, by_disk: dict[str, list[tuple[int, int]]]) -> None:
        """Add the reads of a process and its descendants."""
        requests = self._requests
        own = of_threads(requests, process_tree(self._events, {pid}))
        reads = requests.take(own & ((requests["flags"] & Rwbs.READ) > 0))
        for dev in np.unique(reads["dev"]).tolist():
            of_disk = reads.take(reads["dev"] == dev)
            places = zip(of_disk["sector"].tolist(), of_disk["sectors"].tolist(), strict=True)
            by_disk.setdefault(dev_text(dev), []).extend(place for place in places if place[1])

    @cached_property
    def _events(self) -> Table:
        events: Table = call(events_of, self._directory)
        return events

    @cached_property
    def _requests(self) -> Table:
        return find_requests(self._events)
