"""Event format descriptions of a trace: ids and field offsets, by name, through libtraceevent.

The texts are the kernel's (``events/SYSTEM/EVENT/format``); field layouts differ between kernels
and architectures, so nothing here assumes an offset. Parsing happens once per trace and event, in
the process with limits that reads the trace, since libtraceevent crashes on damaged texts.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from foreread.analyzer.ingest import _readers
from foreread.analyzer.ingest.isolated import call
from foreread.analyzer.ingest.needed import NEEDED, listed
from foreread.analyzer.ingest.recording import TraceError
from foreread.analyzer.ingest.spec import EVENT_SPECS, EventSpec
from foreread.analyzer.ingest.tables import Array

ByteOrder = Literal["little", "big"]
_Row = tuple[int, int, str, int, int, int]  # text, id, name, offset, size, flags
_FORMATS = Path("the formats of events")  # in errors of a caller without limits: top, and tests
_PRINT_FORMAT = b"\nprint fmt: "

# struct ev_field and struct ev_spec, core/events.h
_FIELD = np.dtype([("offset", "u2"), ("size", "u1"), ("is_signed", "u1")])
SPEC = np.dtype(
    [
        ("id", "u2"),
        ("kind", "u1"),
        ("length", "u2"),
        ("pid", _FIELD),
        ("numeric", _FIELD, 4),
        ("rwbs", _FIELD),
    ],
    align=True,
)
_NUMERIC = ("dev", "ino", "index", "value")  # enum ev_column

# enum fmt_flag, core/formats.h
_ARRAY, _SIGNED, _STRING, _DATA_LOC, _REL_LOC = 1, 2, 4, 8, 16


@dataclass(frozen=True)
class Field:
    """One field of an event's record: ``offset`` and ``size`` in bytes from its start."""

    name: str
    offset: int
    size: int
    flags: int

    @property
    def is_signed(self) -> bool:
        """Whether the number is signed."""
        return bool(self.flags & _SIGNED)

    @property
    def is_array(self) -> bool:
        """Whether this is an array, a string included, and no number."""
        return bool(self.flags & (_ARRAY | _STRING | _DATA_LOC | _REL_LOC))

    @property
    def is_string(self) -> bool:
        """Whether this is text, inline or pointed to by a __data_loc or __rel_loc word."""
        return bool(self.flags & _STRING)

    @property
    def storage(self) -> int:
        """How a string is stored: enum ev_string of core/decode.h."""
        return 1 if self.flags & _DATA_LOC else 2 if self.flags & _REL_LOC else 0


# Each architecture names the parameters of its own calls: riscv, powerpc and loongarch say offset.
_ELSEWHERE = {("syscalls:sys_enter_mmap", "off"): "offset"}


@dataclass(frozen=True)
class EventFormat:
    """One event's layout: ``name`` is "system:name", ``id`` its common_type."""

    name: str
    id: int
    fields: Mapping[str, Field]

    def field(self, name: str) -> Field:
        """Return a field by its name on most machines; raises TraceError if it has none such."""
        if name not in self.fields:
            name = _ELSEWHERE.get((self.name, name), name)
        try:
            return self.fields[name]
        except KeyError:
            raise TraceError(
                f"event {self.name} has no field {name!r} (it has {', '.join(self.fields)})",
                "report the kernel's version and this event's format file as a bug",
            ) from None


class Formats:
    """The format texts of one trace, parsed on demand."""

    def __init__(
        self,
        texts: Mapping[str, bytes],
        *,
        byte_order: ByteOrder,
        long_size: int,
        kernel: str | None = None,
    ) -> None:
        """Take texts by "system:name"; byte order and long size are the recorded machine's."""
        self._texts = dict(texts)
        self._parsed: dict[str, EventFormat] = {}
        self.byte_order = byte_order
        self.long_size = long_size
        self.kernel = kernel

    @property
    def names(self) -> frozenset[str]:
        """All events that the trace has a format of."""
        return frozenset(self._texts)

    @property
    def swap(self) -> bool:
        """Whether records are of the other byte order than this machine."""
        return self.byte_order != sys.byteorder

    def ids(self) -> dict[str, int]:
        """Return the common_type of each event that has it in its text; of equal ones the first."""
        names: dict[int, str] = {}
        for name, text in self._texts.items():
            number = event_id(text)
            if number is not None and number < 1 << 16:
                names.setdefault(number, name)
        return {name: number for number, name in names.items()}

    def is_parsed(self, name: str) -> bool:
        """Return whether an event's layout has been parsed."""
        return name in self._parsed

    def event(self, name: str) -> EventFormat:
        """Return one event's layout; raises TraceError if absent or damaged."""
        if name not in self._texts:
            raise TraceError(
                f"the trace{self._kernel()} has no event {name}",
                f"record this event too, on a kernel that has events/{name.replace(':', '/')}",
            )
        self.parse([name])
        return self._parsed[name]

    def parse(self, names: Iterable[str]) -> None:
        """Parse the formats of those ``names`` that the trace has."""
        todo = [n for n in names if n in self._texts and n not in self._parsed]
        if todo:
            fields: list[dict[str, Field]] = [{} for _ in todo]
            numbers = [-1] * len(todo)
            for text, number, field, *layout in self._fields_of(todo):
                numbers[text], fields[text][field] = number, Field(field, *layout)
            for name, number, layouts in zip(todo, numbers, fields, strict=True):
                self._parsed[name] = EventFormat(name, number, layouts)

    def specs(self, wanted: Mapping[str, EventSpec] = EVENT_SPECS) -> Array:
        """Return the specs (dtype SPEC) of the wanted events that the trace has.

        Raises TraceError when it has none of them, or when one lacks a field that it needs.
        """
        names = [name for name in wanted if name in self._texts]
        if not names:
            raise TraceError(
                f"the trace{self._kernel()} has none of the events that say which pages were read",
                f"record {listed(NEEDED)} (foreread record does)",
            )
        self.parse(names)
        rows = np.array([self._spec(self._parsed[name], wanted[name]) for name in names], SPEC)
        if len(np.unique(rows["id"])) < len(rows):
            raise TraceError(
                f"the trace's formats{self._kernel()} give two events the same id", "record again"
            )
        return rows

    def _kernel(self) -> str:
        return f" (kernel {self.kernel})" if self.kernel else ""

    def _fields_of(self, names: list[str]) -> list[_Row]:
        texts = tuple(self._without_print(name) for name in names)
        fields = call(_parsed, _FORMATS, texts, self.long_size, self.byte_order == "big")
        if isinstance(fields, tuple):
            failed, what = fields
            raise self._damaged(names[failed], what)
        rows: list[_Row] = fields
        return rows

    def _without_print(self, name: str) -> bytes:
        """Return a text with an empty print format, which is the larger part of the parser."""
        fields, print_format, _ = self._texts[name].partition(_PRINT_FORMAT)
        if not print_format:
            raise self._damaged(name, "it was cut off")
        return fields + _PRINT_FORMAT + b'""\n'

    def _damaged(self, name: str, what: str) -> TraceError:
        return TraceError(f"format of {name}{self._kernel()}: {what}", "record again")

    def _spec(self, event: EventFormat, spec: EventSpec) -> tuple[object, ...]:
        pid = self._number(event, "common_pid")
        numeric = []
        for column in _NUMERIC:
            name = spec.fields.get(column)
            if name is None or (column in spec.optional and name not in event.fields):
                numeric.append((0, 0, 0))
            else:
                numeric.append(self._number(event, name))
        rwbs = self._rwbs(event, spec)
        length = max(offset + size for offset, size, _ in (pid, *numeric, rwbs))
        return (event.id, int(spec.kind), length, pid, numeric, rwbs)

    def _number(self, event: EventFormat, name: str) -> tuple[int, int, int]:
        field = self._field(event, name)
        if field.is_array or field.size not in (1, 2, 4, 8):
            self._reject(event, name, f"of {field.size} bytes is not a number")
        return (field.offset, field.size, int(field.is_signed))

    def _rwbs(self, event: EventFormat, spec: EventSpec) -> tuple[int, int, int]:
        if "flags" not in spec.fields:
            return (0, 0, 0)
        field = self._field(event, spec.fields["flags"])
        if not field.is_array or field.storage != 0 or not 0 < field.size < 256:
            self._reject(event, field.name, f"of {field.size} bytes is not a short string")
        return (field.offset, field.size, 0)

    def _field(self, event: EventFormat, name: str) -> Field:
        if name not in event.fields:
            self._reject(event, name, "is missing")
        return event.fields[name]

    def _reject(self, event: EventFormat, field: str, why: str) -> None:
        raise TraceError(
            f"event {event.name}{self._kernel()}: field {field!r} {why}",
            "this kernel's layout is unknown: report its version and the event's format file",
        )


def event_id(text: bytes) -> int | None:
    """Return the common_type in a format text without parsing it; None if it has none."""
    match = re.match(rb"name: \w{1,63}\nID: (\d{1,5})\n", text)
    return int(match[1]) if match else None


def event_name(text: bytes) -> str | None:
    """Return the event's name in a format text, without its system; None if it has none."""
    match = re.match(rb"name: (\w{1,63})\n", text)
    return match[1].decode() if match else None


def _parsed(
    _: Path, texts: tuple[bytes, ...], long_size: int, is_big: bool
) -> list[_Row] | tuple[int, str]:
    return _readers.parse_formats(texts, long_size, is_big)
