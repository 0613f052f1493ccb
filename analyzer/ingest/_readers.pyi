"""The readers' C core. Arrays are checked at the border: TypeError for dtype or dimensions,
ValueError for lengths; what is wrong in the trace itself raises ReaderError.

``places`` is an array of analyzer.ingest.columns.PLACE, ``starts`` u8 (runs + 1 values),
``specs`` an array of analyzer.ingest.formats.SPEC, ``data`` any contiguous buffer.
"""

from typing import Any

from foreread.analyzer.ingest.tables import Array

class ReaderError(ValueError): ...

def error_messages() -> list[str]: ...
def parse_formats(
    texts: tuple[bytes, ...], long_size: int, big_endian: bool, /
) -> list[tuple[int, int, str, int, int, int]] | tuple[int, str]:
    """Return (text index, id, field, offset, size, flags) rows, or (text index, what is wrong)."""

def sort_runs(places: Array, starts: Array, /) -> None: ...
def decode(
    data: Any, places: Array, starts: Array, specs: Array, swap: bool, columns: tuple[Array, ...], /
) -> None: ...
def field_numbers(
    data: Any, places: Array, offset: int, size: int, is_signed: bool, swap: bool, out: Array, /
) -> None: ...
def field_strings(
    data: Any, places: Array, offset: int, size: int, storage: int, swap: bool, /
) -> list[bytes]: ...

# A shape is (layouts: PERF_LAYOUT array, ids: u8, id_layouts: u2, offset of the event id in a
# sample, specs, swap). Arrays by CPU are u8 and of equal length.
PerfShape = tuple[Array, Array, Array, int, Array, bool]

def perf_count(data: Any, shape: PerfShape, events: Array, lost: Array, /) -> dict[str, int]:
    """Add to the counts by CPU; return the other counts of struct perf_tally."""

def perf_places(
    data: Any, shape: PerfShape, places: Array, next_place: Array, limit: Array, side: Array, /
) -> None: ...
def perf_inflate(data: Any, swap: bool, out: Array | None, limit: int, /) -> tuple[int, str | None]:
    """Decompress; return the number of bytes and what stopped it. Only count without out."""

def ring_walk(
    data: Any,
    layout: tuple[int, int, int],
    stream: tuple[int, int, int],
    specs: Array,
    swap: bool,
    places: Array | None,
    /,
) -> tuple[int, int, int]:
    """Return (records, lost events, gaps) of a stream (offset, size, cpu) of sub-buffers.

    ``layout`` is (subbuf_size, data_offset, commit_size). Without ``places`` the records are
    only counted.
    """

def ring_decode(
    data: Any,
    sources: tuple[tuple[int, int, int, tuple[int, int, int], str], ...],
    specs: Array,
    swap: bool,
    columns: tuple[Array, ...],
    /,
) -> tuple[int, list[tuple[int, int]]] | None:
    """Fill columns with the merged records of all sources (offset, size, cpu, layout, method).

    Returns (rows, (lost events, gaps) by source), or None if the clock of a source goes back.
    ``method`` is none, zlib or zstd.
    """

def inflate(method: str, source: Any, target: Array, /) -> None:
    """Expand one block (zlib, zstd) into exactly ``target`` (u1)."""

def inflate_chunks(method: str, source: Any, swap: bool, target: Array | None, /) -> int:
    """Expand counted chunks into exactly ``target`` (u1); without one, return its size."""
