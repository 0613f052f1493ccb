"""The lines of a text trace that name needed events: each is read, or counted as unread."""

from __future__ import annotations

import heapq
import mmap
import re
from collections.abc import Iterator
from itertools import islice, pairwise

import numpy as np

from foreread.analyzer.ingest.columns import EventRows
from foreread.analyzer.ingest.tables import EVENTS, Array, Kind, Table
from foreread.analyzer.ingest.text_events import KINDS, common_flags, parse
from foreread.analyzer.ingest.text_heads import ANY_LINE, Head, is_perf, parse_head, time_of
from foreread.analyzer.ingest.text_unread import Unread
from foreread.boards.base.counted import plural

Text = mmap.mmap | bytes

_MAX_CPU = (1 << 16) - 1
_LONGEST_HEAD, _LONGEST_PAYLOAD = 256, 4096
_BEFORE_NAMES, _BEFORE_CALLS = b" \t:", (b":",)  # perf trace: "block:block_rq_issue(…)"
_WHOLE_US = re.compile(rb"\.\d{6}:")
_PROBED_LINES = 200  # of a text whose times begin with 0: differences go back within a few


def _names() -> Iterator[re.Pattern[bytes]]:
    """Yield patterns of the events' names: one that begins with a whole word is searched fast."""
    by_word: dict[bytes, list[bytes]] = {}
    for event in KINDS:
        word, _, rest = event.partition(b"_")
        by_word.setdefault(word, []).append(rest)
    for word, rests in by_word.items():
        yield re.compile(word + b"_(?:" + b"|".join(rests) + rb")(?=[:(])")


NAMES = tuple(_names())


class Lines:
    """The events in the lines of a text, in the order of the text."""

    def __init__(self, text: Text, begin: int = 0) -> None:
        """Read the lines after the byte ``begin``."""
        self.unread = Unread()
        self.by_perf = False
        self._whole_us = False
        self._ticks = False
        self._without_cpu = 0
        self._rows = EventRows()
        self._in_bytes = bytearray()  # of each row
        self._sums = _Sums(text) if _has_differences(text) else None
        self._read(text, begin)

    def table(self) -> tuple[Table, Array]:
        """Return the events, and which have the positions of their pages in bytes."""
        tables = self._rows.tables()
        columns = {c.name: np.concatenate([t[c.name] for t in tables]) for c in EVENTS.columns}
        return Table(EVENTS, columns), np.array(self._in_bytes, np.bool_)

    def notes(self) -> Iterator[str]:
        """Yield what the form of the text lacks."""
        if self.by_perf and self._whole_us:
            yield (
                "the text has whole microseconds: events of two CPUs may be in the wrong order; "
                "print it with perf script --ns"
            )
        if self._sums is not None:
            yield (
                "the times in the text are differences (perf script --deltatime), each rounded, "
                "and are added up here; print it with perf script --ns"
            )
        if self._ticks:
            yield (
                "the times in the text have no unit (trace clock counter, uptime or x86-tsc, or "
                "trace-cmd report --raw-ts): the order is right, seconds are not; record with the "
                "trace clock mono"
            )
        if self._without_cpu:
            yield (
                f"{plural(self._without_cpu, 'sched_switch event', 'is')} left out, since the text "
                "does not name CPUs; print it with perf script -F +cpu"
            )
        if self.unread.lines:
            yield f"{self.unread}; {self.unread.remedy}"

    def _read(self, text: Text, begin: int) -> None:
        """Read or count each line that names a needed event."""
        done = counted = 0  # ends of the last line that was read, and that was counted
        for match in heapq.merge(*(p.finditer(text, begin) for p in NAMES), key=re.Match.start):
            at, after = match.span()
            if at < done:
                continue
            low = max(at - _LONGEST_HEAD, done)
            start = max(text.rfind(b"\n", low, at) + 1, low)
            before, mark = text[start:at], text[after : after + 1]
            if before[-1:] not in (_BEFORE_NAMES if mark == b":" else _BEFORE_CALLS):
                continue
            end = text.find(b"\n", after, after + _LONGEST_PAYLOAD)
            end = end if end >= 0 else min(after + _LONGEST_PAYLOAD, len(text))
            head = parse_head(before) if mark == b":" else None
            if head is not None and self._add(match[0], head, text[after + 1 : end], at):
                if done == 0:
                    self.by_perf = is_perf(before)
                    self._whole_us = _WHOLE_US.search(before) is not None
                done = end
            elif at >= counted and (head is not None or not _is_of_another(before)):
                self.unread.add(match[0], text[start:end])
                counted = end

    def _add(self, event: bytes, head: Head, payload: bytes, at: int) -> bool:
        """Add the row of a line; return whether the line could be read."""
        kind = KINDS[event]
        fields = parse(kind, payload.lstrip(b" \t"))
        pid, cpu, context, time_ns, is_ticks = head
        if fields is None or int(cpu or 0) > _MAX_CPU:
            return False
        if cpu is None and kind == Kind.SWITCH:
            self._without_cpu += 1
            return True
        dev, ino, index, value, flags, in_bytes = fields
        if kind == Kind.WAKING:
            index = common_flags(context)
        if self._sums is not None:
            time_ns = self._sums.until(at)
        self._ticks |= is_ticks
        self._rows.add((time_ns, int(cpu or 0), kind, pid, dev, ino, index, value, flags))
        self._in_bytes.append(in_bytes)
        return True


def _is_of_another(before: bytes) -> bool:
    """Return whether a needed event's name stands in a comment or within another event's line."""
    return before.lstrip().startswith(b"#") or ANY_LINE.search(before) is not None


def _has_differences(text: Text) -> bool:
    """Return whether ``perf script --deltatime`` printed the text: times begin with 0 and go back.

    With ``--reltime`` they begin with 0 and do not.
    """
    times = [time_of(line) for line in islice(ANY_LINE.finditer(text), _PROBED_LINES)]
    goes_back = any(later < earlier for earlier, later in pairwise(times))
    return bool(times) and times[0] == 0 and goes_back


class _Sums:
    """Sums of the times of all lines, of whatever event, in a text that has differences."""

    def __init__(self, text: Text) -> None:
        self._lines = ANY_LINE.finditer(text)
        self._next = next(self._lines, None)
        self._total_ns = 0

    def until(self, at: int) -> int:
        """Return the time of the line with the byte ``at``, which never goes back."""
        while self._next is not None and self._next.start() <= at:
            self._total_ns += time_of(self._next)
            self._next = next(self._lines, None)
        return self._total_ns
