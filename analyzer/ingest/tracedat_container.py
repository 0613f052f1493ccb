"""What a trace.dat holds: its metadata, and where its trace data are."""

from __future__ import annotations

from dataclasses import dataclass, field

from foreread.analyzer.ingest.cursor import Cursor
from foreread.analyzer.ingest.formats import ByteOrder
from foreread.analyzer.ingest.recording import TraceError
from foreread.tracer.formats.limits import MOST_TRACE_BYTES, RECORD_LESS, check_size

_RATIO_LIMIT = 1024  # uncompressed by compressed bytes; ring-buffer pages reach about 100
_SMALL = 64 << 20  # bytes that are always allowed


@dataclass(frozen=True)
class CpuData:
    """Trace data of one CPU: ``size`` bytes in the file at ``offset``."""

    cpu: int
    offset: int
    size: int


@dataclass
class Buffer:
    """One buffer instance; ``name`` is "" for the top one."""

    name: str
    offset: int
    subbuf_size: int = 0
    cpus: list[CpuData] = field(default_factory=list)
    compressed: bool = False


@dataclass(frozen=True)
class TscToNs:
    """Converts ticks to nanoseconds: ``ticks * mult >> shift``."""

    mult: int
    shift: int


@dataclass
class Container:
    """The metadata of a trace.dat, and the place of its trace data."""

    data: memoryview
    version: int
    byte_order: ByteOrder
    long_size: int
    page_size: int
    compression: str = "none"
    header_page: bytes = b""
    texts: dict[str, bytes] = field(default_factory=dict)
    buffers: list[Buffer] = field(default_factory=list)
    cpu_count: int = 0
    clock: str | None = None
    kernel: str | None = None
    lost: dict[int, int] = field(default_factory=dict)
    counted: bool = False
    time_offset_ns: int = 0
    tsc: TscToNs | None = None
    sections: dict[int, int] = field(default_factory=dict)
    is_latency: bool = False

    def cursor(self, offset: int) -> Cursor:
        """Return a cursor at an offset of the file; raises ValueError past its end."""
        if offset > len(self.data):
            raise ValueError(f"it points to byte {offset} and has {len(self.data)}")
        return Cursor(self.data[offset:], self.byte_order)


def check_expansion(size: int, packed: int) -> None:
    """Raise TraceError if no real trace packs ``size`` bytes into ``packed`` ones."""
    check_size("trace.dat, decompressed,", size, MOST_TRACE_BYTES, RECORD_LESS)
    if size > max(_SMALL, _RATIO_LIMIT * packed):
        raise TraceError(f"{packed} bytes of trace.dat claim to expand to {size}", "copy it again")
