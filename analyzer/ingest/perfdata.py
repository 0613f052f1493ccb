"""perf.data (file and pipe mode, zstd or not, either byte order) into the EVENTS table.

Also the directory that ``perf record --threads`` writes, and the files of Android's simpleperf.
"""

from __future__ import annotations

import mmap
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from foreread.analyzer.ingest import (
    _readers,
    perf_header,
    perf_mappings,
    perf_records,
    tracing_data,
)
from foreread.analyzer.ingest.allowance import grant
from foreread.analyzer.ingest.columns import PLACE, decode
from foreread.analyzer.ingest.fields import FieldReader
from foreread.analyzer.ingest.formats import SPEC, Formats
from foreread.analyzer.ingest.losses import UNKNOWN_CPU
from foreread.analyzer.ingest.needed import NEEDED, listed
from foreread.analyzer.ingest.perf_header import MAGICS, Container, Feature
from foreread.analyzer.ingest.perf_layout import Layouts, find_layouts
from foreread.analyzer.ingest.recording import Trace, TraceError
from foreread.analyzer.ingest.tables import Array
from foreread.boards.base.bounded import UnboundedError, open_regular
from foreread.tracer.formats.limits import (
    MOST_TRACE_BYTES,
    RECORD_LESS,
    LimitError,
    check_cpus,
    check_size,
)

_MAX_CPUS = 1 << 16  # the cpu column is u2
_MAX_RATIO = 256  # decompressed to compressed bytes; perf's records reach about 20
_MOST_NAMES = 6
_HEADER = "data"  # of a directory: PERF_DIR_DATA; its records are in data.0, data.1, …
_PART = re.compile(r"data\.(\d{1,5})")
_STOPS = {1: "ends inside a record", 2: "is damaged"}  # enum perf_stop, core/perf_walk.h


def read(path: Path) -> Trace:
    """Decode a perf.data file: wanted events (spec.py) merged over CPUs, lost counts, paths.

    A file that is cut or damaged after its first events gives those, and a note. The file is
    mapped as long as the result lives, and must not shrink meanwhile. Raises
    TraceError when the file is none, lacks event formats, time or CPU, or has no wanted event.
    """
    file = _open(path)
    specs = file.formats.specs()
    walked = file.walk(specs)
    events = decode(file.records, walked.places, walked.starts, specs, file.swap)
    if events.rows == 0:
        if Feature.DIR_FORMAT in file.container.features and path.is_file():
            raise TraceError(
                f"{path} is the header of a perf.data directory, and the records are in other "
                "files of the directory",
                f"give the directory: {path.absolute().parent}",
            )
        recorded = ", ".join(file.recorded_events()[:_MOST_NAMES])
        raise TraceError(
            _sentence(
                f"{path} has none of the events that are needed, and it recorded: {recorded}",
                walked.notes,
            ),
            f"record {listed(NEEDED)} while the application starts (foreread record does)",
        )
    return Trace(
        format="perf.data",
        events=events,
        page_size=file.page_size,
        kernel=file.formats.kernel,
        lost=walked.lost,
        event_names=file.formats.names,
        notes=file.notes + walked.notes,
        paths=perf_mappings.paths(file.mappings(walked.side)),
        read_fields=file.reader_of_fields(),
    )


def mappings(path: Path) -> list[perf_mappings.Mapping]:
    """Return the file mappings (PERF_RECORD_MMAP, MMAP2) in file order. Raises TraceError."""
    file = _open(path)
    return file.mappings(file.walk(np.empty(0, SPEC)).side)


def tasks(path: Path) -> list[perf_mappings.Task]:
    """Return names and forks (PERF_RECORD_COMM, FORK) in file order. Raises TraceError."""
    file = _open(path)
    side = file.walk(np.empty(0, SPEC)).side
    return perf_mappings.tasks(file.records, side, file.container.byte_order)


@dataclass(frozen=True)
class _Walked:
    """First pass: places in runs by CPU, offsets of the other records, losses, errors."""

    places: Array
    starts: Array
    side: Array
    lost: dict[int, int]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _File:
    """A perf.data file ready to be walked; ``records`` are decompressed."""

    container: Container
    records: memoryview | Array
    formats: Formats
    layouts: Layouts
    page_size: int
    notes: tuple[str, ...]

    @property
    def swap(self) -> bool:
        return self.formats.swap

    def walk(self, specs: Array) -> _Walked:
        """Return the places of the events in ``specs``, and the other contents of the records.

        The records are walked twice: to count, then to note.
        """
        lay = self.layouts
        shape = (lay.layouts, lay.ids, lay.id_layouts, lay.sample_id, specs, self.swap)
        events, lost = np.zeros(_MAX_CPUS, "u8"), np.zeros(_MAX_CPUS, "u8")
        try:
            tally = _readers.perf_count(self.records, shape, events, lost)
            cpus = np.flatnonzero(events)
            limit = np.cumsum(events, dtype="u8")
            starts = np.concatenate([np.zeros(1, "u8"), limit[cpus]])
            places = np.empty(int(starts[-1]), PLACE)
            side = np.empty(tally["side"], "u8")
            _readers.perf_places(self.records, shape, places, limit - events, limit, side)
        except _readers.ReaderError as error:
            raise TraceError(f"perf.data cannot be walked: {error}", "record again") from error
        notes = _tally_notes(tally, len(self.records))
        return _Walked(places, starts, side, _lost(lost, tally), notes)

    def mappings(self, side: Array) -> list[perf_mappings.Mapping]:
        return perf_mappings.mappings(self.records, side, self.container.byte_order)

    def recorded_events(self) -> list[str]:
        """Return the names of the events that the recorder was to record."""
        ids = {attr.config for attr in self.container.attrs if attr.type == perf_header.TRACEPOINT}
        return sorted(name for name, number in self.formats.ids().items() if number in ids)

    def reader_of_fields(self) -> FieldReader:
        """Return Trace.read_fields of this file."""

        def find(specs: Array) -> tuple[object, Array, Array]:
            walked = self.walk(specs)
            return self.records, walked.places, walked.starts

        return FieldReader(self.formats, find)


def begins(head: bytes) -> bool:
    """Return whether ``head`` begins a perf.data file of either byte order."""
    return head.startswith(MAGICS)


def is_directory(path: Path) -> bool:
    """Return whether this is a directory as ``perf record --threads`` or ``--kcore`` makes."""
    if not (path / _HEADER).is_file():
        return False
    with open_regular(path / _HEADER) as file:
        return file.read(len(MAGICS[0])) in MAGICS


def is_part(path: Path) -> bool:
    """Return whether this is a file of records in such a directory."""
    return _PART.fullmatch(path.name) is not None and is_directory(path.parent)


def _open(path: Path) -> _File:
    if path.is_dir() and not is_directory(path):
        raise TraceError(
            f"{path} is a directory that perf record --threads did not make",
            "give a perf.data file",
        )
    parts = _parts(path) if path.is_dir() else []
    container = perf_header.read(_map(path / _HEADER if path.is_dir() else path), bool(parts))
    inflated = [_inflate(container, records) for records in (container.records, *map(_map, parts))]
    records, notes = _joined([records for records, _ in inflated]), [note for _, note in inflated]
    metadata = _tracing_data(container, records)
    formats = metadata.formats(container.text(Feature.OSRELEASE))
    layouts = find_layouts(container.attrs)
    notes = [note for note in notes if note]
    return _File(
        container, records, formats, layouts, metadata.page_size, (*container.notes, *notes)
    )


def _parts(directory: Path) -> list[Path]:
    """Return the files of a directory that have its records, in order."""
    parts = {int(m[1]): p for p in directory.iterdir() if (m := _PART.fullmatch(p.name))}
    check_cpus(len(parts), str(directory))
    return [parts[number] for number in sorted(parts) if parts[number].stat().st_size]


def _joined(parts: list[memoryview | Array]) -> memoryview | Array:
    if len(parts) == 1:
        return parts[0]
    size = sum(len(part) for part in parts)
    check_size("perf.data, all files together,", size, MOST_TRACE_BYTES, RECORD_LESS)
    return np.concatenate([np.frombuffer(part, np.uint8) for part in parts])


def _map(path: Path) -> memoryview:
    try:
        with open_regular(path) as file:
            size = path.stat().st_size
            check_size(str(path), size, MOST_TRACE_BYTES, RECORD_LESS)
            grant(size)
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (LimitError, UnboundedError):
        raise
    except ValueError:
        raise TraceError(f"{path} is empty", "record again") from None
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}", "give a readable perf.data file") from error


def _tracing_data(container: Container, records: memoryview | Array) -> tracing_data.TracingData:
    data = container.features.get(Feature.TRACING_DATA)
    if data is None:
        view = records if isinstance(records, memoryview) else records.data
        data = perf_records.formats_in(view, container.byte_order)
    if data is None:
        raise TraceError(
            _sentence("perf.data has no event formats", container.notes),
            "record tracepoints and let perf record end by itself or by Ctrl-C",
        )
    try:
        return tracing_data.read(data)
    except ValueError as error:
        raise TraceError(
            f"perf.data's event formats are damaged: {error}", "copy it again, or record again"
        ) from error


def _inflate(container: Container, data: memoryview) -> tuple[memoryview | Array, str]:
    """Return the records with compressed ones decompressed, after the others, and a problem."""
    swap = container.byte_order != sys.byteorder
    if Feature.COMPRESSED not in container.features and not perf_records.is_compressed(
        data, container.byte_order
    ):
        return data, ""
    try:
        most = min(len(data) * _MAX_RATIO, MOST_TRACE_BYTES + 1)
        size, problem = _readers.perf_inflate(data, swap, None, most)
        check_size("perf.data, decompressed,", size, MOST_TRACE_BYTES, RECORD_LESS)
        grant(size)
        inflated = np.empty(size + 1, "u1")  # one byte more: zstd never runs out of room
        size, _ = _readers.perf_inflate(data, swap, inflated, 0)
    except _readers.ReaderError as error:
        raise TraceError(f"perf.data cannot be decompressed: {error}", "record again") from error
    return inflated[:size], f"compressed records: {problem}" if problem else ""


def _lost(by_cpu: Array, tally: Mapping[str, int]) -> dict[int, int]:
    """Return lost events by CPU.

    LOST_SAMPLES, from perf 6.1 on, repeats at the end the losses that LOST has reported, and also
    counts losses that no record followed. Records that cannot be read hold an event at least.
    """
    lost = {int(cpu): int(by_cpu[cpu]) for cpu in np.flatnonzero(by_cpu)}
    reported = sum(lost.values())
    unknown = max(tally["lost_unknown"], tally["lost_samples"] - reported, 0)
    unknown += tally["damaged"] + int(tally["stop"] > 0)
    return lost | {UNKNOWN_CPU: unknown} if unknown > 0 else lost


def _tally_notes(tally: Mapping[str, int], size: int) -> tuple[str, ...]:
    notes = []
    if tally["stop"]:
        notes.append(
            f"perf.data {_STOPS[tally['stop']]}: {size - tally['end']} of {size} bytes, and the "
            "events in them, could not be read"
        )
    if tally["damaged"]:
        notes.append(f"{tally['damaged']} samples are damaged and left out")
    return tuple(notes)


def _sentence(what: str, notes: tuple[str, ...]) -> str:
    return f"{what} ({'; '.join(notes)})" if notes else what
