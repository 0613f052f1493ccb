"""Events that Perfetto's schema lacks, as traced_probes writes them: by the names of their fields.

Before v53 such an event is a GenericFtraceEvent (protos/perfetto/trace/ftrace/generic.proto), since
then a message of its own, which a GenericEventDescriptor of the bundle describes. Among them are
mm_filemap_fault, mm_filemap_get_pages and mm_filemap_map_pages.
"""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from typing import Any

from foreread.analyzer.ingest.spec import EVENT_SPECS
from foreread.analyzer.ingest.tables import Kind
from foreread.analyzer.ingest.text_events import flags_of
from foreread.analyzer.ingest.windows_seen import WINDOW_DEV, WINDOW_EVENTS, WINDOW_PAGES

_SPECS = {
    name.partition(":")[2]: spec
    for name, spec in EVENT_SPECS.items()
    if not name.startswith("foreread:")
}
_NAMES = {*_SPECS, *WINDOW_EVENTS}
_U64 = (1 << 64) - 1
_MOST_DESCRIPTOR_BYTES = 1 << 16

Columns = tuple[int, int, int, int, int]  # dev, ino, index, value, flags
_COLUMNS = ("dev", "ino", "index", "value", "flags")


class GenericEvents:
    """Decodes them; ``unread`` counts needed events that lack a field.

    ``windows`` counts the windows in force by event, device (as Perfetto encodes it) and pages.
    """

    def __init__(self) -> None:
        self.unread = 0
        self.windows = Counter[tuple[str, int, int]]()
        self._described: dict[int, tuple[str, dict[int, str]]] = {}
        self._descriptor = import_module("google.protobuf.descriptor_pb2").DescriptorProto
        self._empty = import_module("google.protobuf.empty_pb2").Empty
        self._unknown = import_module("google.protobuf.unknown_fields").UnknownFieldSet
        self._error = import_module("google.protobuf.message").DecodeError

    def learn(self, bundle: Any) -> None:
        """Take what a bundle describes."""
        for described in bundle.generic_event_descriptors:
            content = described.event_descriptor
            if len(content) > _MOST_DESCRIPTOR_BYTES:
                continue
            try:
                message = self._descriptor.FromString(content)
            except self._error:
                continue
            if message.name in _NAMES:
                names = {field.number: field.name for field in message.field}
                self._described[described.field_id] = message.name, names

    def columns(self, event: Any) -> tuple[Kind, Columns] | None:
        """Return a needed event's kind and columns; ``dev`` as Perfetto encodes it."""
        if event.HasField("generic"):
            if event.generic.event_name not in _NAMES:
                return None
            values = {field.name: _value(field) for field in event.generic.field}
            return self._filled(event.generic.event_name, values)
        if not self._described:
            return None
        for field in self._unknown(event):
            if field.field_number in self._described and isinstance(field.data, bytes):
                name, names = self._described[field.field_number]
                return self._filled(name, self._values(field.data, names))
        return None

    def _values(self, content: bytes, names: dict[int, str]) -> dict[str, Any]:
        try:
            message = self._empty.FromString(content)
        except self._error:
            return {}
        fields = self._unknown(message)
        return {names[f.field_number]: f.data for f in fields if f.field_number in names}

    def _filled(self, event: str, values: dict[str, Any]) -> tuple[Kind, Columns] | None:
        if event in WINDOW_EVENTS:
            dev, pages = values.get(WINDOW_DEV), values.get(WINDOW_PAGES)
            if isinstance(dev, int) and isinstance(pages, int):
                self.windows[event, dev, pages] += 1
        if event not in _SPECS:
            return None
        spec = _SPECS[event]
        columns = dict.fromkeys(_COLUMNS, 0)
        for column, name in spec.fields.items():
            value = values.get(name)
            if column == "flags" and isinstance(value, (str, bytes)):
                letters = value if isinstance(value, str) else value.decode(errors="replace")
                columns[column] = flags_of(letters)
            elif isinstance(value, int):
                columns[column] = value & _U64
            elif column not in spec.optional:
                self.unread += 1
                return None
        dev, ino, index, number, flags = (columns[column] for column in _COLUMNS)
        return spec.kind, (dev, ino, index, number, flags)


def _value(field: Any) -> Any:
    """Return the value of a GenericFtraceEvent.Field."""
    name = field.WhichOneof("value")
    return getattr(field, name) if name else None
