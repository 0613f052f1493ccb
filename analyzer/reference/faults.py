"""Distinguishes write faults from read faults by fault-around.

After a read fault the kernel maps the pages around it as soon as its page is cached
(do_read_fault), with a separate event. A write fault has no fault-around (do_cow_fault,
do_shared_fault), and is restarted if its page had to be read in. This matters since fault-around
reduces mmap_miss (mm/filemap.c): a file mapped for writing is soon read page by page.
"""

from __future__ import annotations

from foreread.analyzer.program.evidence import Evidence, Shown
from foreread.analyzer.reference.draft import Draft
from foreread.analyzer.reference.threads import Fault, Thread, Threads


class Faults:
    """The present faults of threads."""

    def __init__(self, evidence: Evidence, draft: Draft, threads: Threads) -> None:
        self.draft = draft
        self.threads = threads
        self._shown = bool(evidence.shown & Shown.MAPPED)  # otherwise the kernel has no such event

    def goes_on(self, thread: Thread, file: int, page: int) -> bool:
        """Return whether a fault repeats one that has just read its page in; then it writes."""
        fault = thread.fault
        again = fault is not None and fault.missed and (fault.file, fault.page) == (file, page)
        self.over(thread, writes=again or None)
        return again

    def begin(self, thread: Thread, file: int, page: int, row: int) -> None:
        """Store a fault; ``row`` is its operation."""
        if self._shown:
            waits = self.draft.has(file, page) and self._is_read_in(file, page)
            thread.fault = Fault(file, page, row, present=not waits)

    def inserted(self, thread: Thread, file: int, page: int) -> bool:
        """Record that a thread has inserted a page; return whether its fault did."""
        fault = thread.fault
        if fault is None or (fault.file, fault.page) != (file, page):
            return False
        fault.missed = True
        return True

    def mapped(self, thread: Thread, file: int, first: int, last: int) -> None:
        """Record that fault-around mapped the cached ones of some pages."""
        fault = thread.fault
        reads = fault is not None and fault.file == file and first <= fault.page <= last
        self.over(thread, writes=False if reads else None)

    def over(self, thread: Thread, *, writes: bool | None = None) -> None:
        """End a thread's fault; if unknown, it was a write fault if the page was cached."""
        fault, thread.fault = thread.fault, None
        if fault is None:
            return
        if writes or (writes is None and fault.present and not fault.missed):
            self.draft.writes(fault.row)

    def _is_read_in(self, file: int, page: int) -> bool:
        """Return whether another thread is in a fault that reads the page in."""
        faults = (thread.fault for thread in self.threads.by_id.values())
        return any(f is not None and f.missed and (f.file, f.page) == (file, page) for f in faults)
