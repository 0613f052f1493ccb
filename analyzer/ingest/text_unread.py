"""Lines of a text trace that name needed events, in a form that is not read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import numpy as np

from foreread.analyzer.ingest.not_traces import RECORD
from foreread.analyzer.ingest.tables import Kind, Table
from foreread.analyzer.ingest.text_events import KINDS
from foreread.boards.base.counted import plural

_LONGEST_SHOWN = 160
_RECORD_PERF = (  # perf trace keeps nothing that could be printed again
    "record with perf record -a -e 'filemap:*' -e 'block:*' and give the perf.data"
)
_PRINT_PERF = "print it again with perf script --ns -F comm,tid,cpu,time,event,trace"
_RECORD_NOP = (  # trace_functions_graph.c prints events as comments, without their thread
    "record again with the tracer nop: echo nop > current_tracer"
)
_PRINT = (
    "print it again with trace-cmd report -t, or copy tracefs's file trace after: "
    "echo context-info > trace_options"
)


class Unread:
    """Counts such lines by event, and keeps the first one."""

    def __init__(self) -> None:
        self._events: Counter[bytes] = Counter()
        self._first = b""

    def add(self, event: bytes, line: bytes) -> None:
        """Count a line."""
        self._first = self._first or line
        self._events[event] += 1

    @property
    def lines(self) -> int:
        """Return the number of lines."""
        return self._events.total()

    @property
    def remedy(self) -> str:
        """Return what to type for a text that can be read: perf names the groups of events."""
        name = next(iter(self._events), b"")
        forms = (
            (b":" + name + b"(", _RECORD_PERF),  # perf trace
            (b":" + name, _PRINT_PERF),
            (b"/* " + name, _RECORD_NOP),
            (name + b": { cpu_id = ", RECORD),  # babeltrace, of LTTng
        )
        return next((remedy for form, remedy in forms if form in self._first), _PRINT)

    def misses_most(self, kinds: Collection[Kind], events: Table) -> bool:
        """Return whether more lines of one of ``kinds`` were counted than ``events`` has."""
        of_kind = np.bincount(events["kind"], minlength=max(Kind) + 1)
        return any(
            KINDS[event] in kinds and lines > of_kind[KINDS[event]]
            for event, lines in self._events.items()
        )

    def __str__(self) -> str:
        """Say how many lines of which events, and show one."""
        shown = self._first[:_LONGEST_SHOWN].decode(errors="replace").strip()
        names = ", ".join(f"{lines} {name.decode()}" for name, lines in self._events.most_common())
        return (
            f"{plural(self.lines, 'line')} of needed events {'is' if self.lines == 1 else 'are'} "
            f'in a form that foreread does not read ({names}), as "{shown}"'
        )
