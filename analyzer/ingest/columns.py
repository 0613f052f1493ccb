"""Builds the EVENTS table from the places of records: numpy allocates, C merges and fills."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foreread.analyzer.ingest import _readers
from foreread.analyzer.ingest.formats import EventFormat, Field
from foreread.analyzer.ingest.recording import TraceError
from foreread.analyzer.ingest.tables import EVENTS, Array, Table

# struct ev_place, core/decode.h
PLACE = np.dtype(
    [("time_ns", "u8"), ("offset", "u8"), ("size", "u4"), ("cpu", "u2"), ("spec", "u2")]
)


def decode(data: object, places: Array, starts: Array, specs: Array, swap: bool) -> Table:
    """Return the EVENTS table of ``places``, merged over runs by time, ties by run.

    ``data`` is a buffer that holds the records; ``places`` (PLACE) lie in runs, run i from
    ``starts[i]`` to ``starts[i + 1]`` (u8), which are brought into time order in place.
    ``swap`` says that the records are of the other byte order. Raises TraceError.
    """
    table = Table.empty(EVENTS, len(places))
    try:
        _readers.sort_runs(places, starts)
        _readers.decode(data, places, starts, specs, swap, tuple(table.values()))
    except _readers.ReaderError as error:
        raise TraceError(
            f"the trace's records do not fit their formats: {error}", "record again"
        ) from error
    return table


def decode_fields(
    data: object, places: Array, event: EventFormat, names: tuple[str, ...], swap: bool
) -> dict[str, Array]:
    """Return ``time_ns`` (u8), ``cpu`` (u2), ``pid`` (i4) and the named fields of one event.

    ``places`` are the event's records in the order wanted. Numbers come as u8 or i8, strings
    (char arrays, __data_loc and __rel_loc) as object arrays of bytes. Raises TraceError.
    """
    try:
        columns = {name: _field(data, places, event.field(name), swap) for name in names}
        pid = _field(data, places, event.field("common_pid"), swap)
    except _readers.ReaderError as error:
        raise TraceError(
            f"records of {event.name} do not fit their format: {error}", "record again"
        ) from error
    return {
        "time_ns": places["time_ns"].copy(),
        "cpu": places["cpu"].copy(),
        "pid": pid.astype("i4"),
        **columns,
    }


def in_time_order(places: Array, starts: Array) -> Array:
    """Return ``places`` merged over their runs: sorted by time, ties by run."""
    _readers.sort_runs(places, starts)
    return places[np.argsort(places["time_ns"], kind="stable")]


class EventRows:
    """Rows of EVENTS that a reader in Python adds one after another."""

    _BLOCK_ROWS = 1 << 16

    def __init__(self) -> None:
        self._tables: list[Table] = []
        self._rows: list[tuple[int, ...]] = []  # ten times as large as the same rows of a table

    def add(self, row: tuple[int, ...]) -> None:
        """Add a row, in the order of the columns."""
        self._rows.append(row)
        if len(self._rows) == self._BLOCK_ROWS:
            self._close_block()

    def tables(self) -> list[Table]:
        """Return all rows in the order in which they were added, at least one table."""
        self._close_block()
        return self._tables

    def _close_block(self) -> None:
        columns = zip(*self._rows, strict=True) if self._rows else ((),) * len(EVENTS.columns)
        pairs = zip(EVENTS.columns, columns, strict=True)
        arrays = {column.name: np.array(values, column.dtype) for column, values in pairs}
        self._tables.append(Table(EVENTS, arrays))
        self._rows.clear()


def by_time(tables: Sequence[Table]) -> Table:
    """Return the rows of all tables of EVENTS, in order of time."""
    arrays = {c.name: np.concatenate([table[c.name] for table in tables]) for c in EVENTS.columns}
    return Table(EVENTS, arrays).take(np.argsort(arrays["time_ns"], kind="stable"))


def _field(data: object, places: Array, field: Field, swap: bool) -> Array:
    if field.is_string:
        strings = np.empty(len(places), object)
        strings[:] = _readers.field_strings(
            data, places, field.offset, field.size, field.storage, swap
        )
        return strings
    if field.is_array or field.size not in (1, 2, 4, 8):
        raise TraceError(
            f"field {field.name} of {field.size} bytes is neither a number nor a string",
            "ask for another field",
        )
    numbers = np.empty(len(places), "i8" if field.is_signed else "u8")
    _readers.field_numbers(data, places, field.offset, field.size, field.is_signed, swap, numbers)
    return numbers
