"""Fields of a trace's events on demand, for events that the EVENTS table does not hold.

A recording has dozens of kinds of system calls. The reader looks for all events of one system
(``syscalls``) in one pass over the trace, and parses the formats of those that occur: a pass for
each kind would take longer than everything else.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from foreread.analyzer.ingest.columns import PLACE, decode_fields, in_time_order
from foreread.analyzer.ingest.formats import SPEC, Formats
from foreread.analyzer.ingest.recording import TraceError
from foreread.analyzer.ingest.spec import EventSpec
from foreread.analyzer.ingest.tables import Array, Kind, order_by

_TOGETHER = "syscalls:"
_ANY = EventSpec(Kind.INSERT, {})  # kind and columns are ignored

# From specs (SPEC) to the data that holds the records, their places (PLACE) and starts of runs.
Find = Callable[[Array], tuple[object, Array, Array]]


@dataclass
class FieldReader:
    """Trace.read_fields of one trace; ``find`` walks its records."""

    formats: Formats
    find: Find
    _data: object = None
    _places: dict[str, Array] | None = field(default=None)

    def __call__(self, name: str, fields: tuple[str, ...]) -> dict[str, Array]:
        """Return ``time_ns``, ``cpu``, ``pid`` and the named fields of one event, by time."""
        if name.startswith(_TOGETHER) and name in self.formats.names:
            of_calls = self._together()
            if name not in of_calls:
                return _nothing(fields)
            event = self.formats.event(name)
            data, places = self._data, of_calls[name]
        else:
            event = self.formats.event(name)
            data, places = self._walk([name])
        return decode_fields(data, places, event, fields, self.formats.swap)

    def _together(self) -> dict[str, Array]:
        """Return the places of each event of the system that occurs, in order of time."""
        if self._places is None:
            ids = self.formats.ids()
            calls = {name: number for name, number in ids.items() if name.startswith(_TOGETHER)}
            names = self._occurring({number: name for name, number in calls.items()})
            self._places = {name: np.zeros(0, PLACE) for name in names}
            parsed = self._parsed(names)
            if parsed:
                self._data, places = self._walk(parsed)
                ends = np.cumsum(np.bincount(places["spec"], minlength=len(parsed)))
                by_event = np.split(places[order_by(places["spec"])], ends[:-1])
                self._places |= zip(parsed, by_event, strict=True)
        return self._places

    def _parsed(self, names: list[str]) -> list[str]:
        """Return the names with an undamaged format."""
        with suppress(TraceError):
            self.formats.parse(names)
            return names
        for name in names:
            with suppress(TraceError):  # the caller that needs it gets the error
                self.formats.parse([name])
        return [name for name in names if self.formats.is_parsed(name)]

    def _occurring(self, names: dict[int, str]) -> list[str]:
        """Return the events of ``names`` (by common_type) that have a record."""
        specs = np.zeros(len(names), SPEC)
        specs["id"] = list(names)
        _, places, _ = self.find(specs)
        count = np.bincount(places["spec"], minlength=len(specs))
        return [name for name, number in zip(names.values(), count, strict=True) if number]

    def _walk(self, names: list[str]) -> tuple[object, Array]:
        specs = self.formats.specs(dict.fromkeys(names, _ANY))
        data, places, starts = self.find(specs)
        return data, in_time_order(places, starts)


def _nothing(fields: tuple[str, ...]) -> dict[str, Array]:
    none = np.zeros(0, PLACE)
    columns = {name: np.zeros(0, np.int64) for name in fields}
    common = {"time_ns": none["time_ns"], "cpu": none["cpu"], "pid": np.zeros(0, np.int32)}
    return {**common, **columns}
