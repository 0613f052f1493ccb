"""What a machine reads, interval after interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from foreread.analyzer.ingest.columns import by_time
from foreread.analyzer.ingest.tables import EVENTS, Table
from foreread.analyzer.top.decode import Decoder, until
from foreread.analyzer.top.emulated import fates
from foreread.analyzer.top.machine import Watched
from foreread.analyzer.top.rows import Figures, by_key
from foreread.analyzer.top.seen import Inode, Seen

# The buffers of the processors are read one after another: an insert and the read that fills its
# page may be in different intervals. So the last events wait for the next interval.
_WAIT_NS = 50_000_000
_QUIET_INTERVALS = 3


@dataclass(frozen=True)
class Shown:
    """The figures after an interval, by (dev_t, inode) and by thread.

    ``read`` is the number of pages that the kernel read; ``explained`` the number of them that the
    emulation also reads, None where touches are not recorded. ``afresh``: the figures began anew
    because there were too many.
    """

    files: Mapping[Inode, Figures]
    threads: Mapping[int, Figures]
    read: int
    explained: int | None
    afresh: bool


class Watch:
    """The state of a watched machine; ``touches``: whether its kernel records touches."""

    def __init__(self, watched: Watched, decoder: Decoder, touches: bool) -> None:
        self._watched, self._decoder, self._touches = watched, decoder, touches
        self._seen = Seen(watched)
        self._waiting = Table.empty(EVENTS)
        self._quiet = 0
        self.ended: dict[int, str] = {}  # names of threads, when they ended

    @property
    def is_quiet(self) -> bool:
        """Whether no disk has been read for some intervals."""
        return self._quiet >= _QUIET_INTERVALS

    def add(self, pages: Mapping[int, bytes], last: bool = False) -> Shown:
        """Add the pages of an interval and return the figures.

        ``last``: no further interval follows. Raises TraceError for damaged pages.
        """
        interval = self._decoder.decode(pages)
        self.ended |= interval.ended
        events = by_time([self._waiting, interval.events])
        newest = int(events["time_ns"][-1]) if events.rows else 0
        events, self._waiting = until(events, newest + 1 if last else newest - _WAIT_NS)
        afresh = self._seen.is_full
        if afresh:
            self._seen = Seen(self._watched)
        now = self._seen.add(events)
        self._quiet = 0 if now else self._quiet + 1
        page_fates = fates(self._seen) if self._touches else None
        inodes = self._seen.inodes
        return Shown(
            files=by_key(self._seen, now, page_fates, lambda row, _: inodes[row]),
            threads=by_key(self._seen, now, page_fates, lambda _, thread: thread),
            read=len(self._seen.read_by),
            explained=None if page_fates is None else page_fates.pages,
            afresh=afresh,
        )
