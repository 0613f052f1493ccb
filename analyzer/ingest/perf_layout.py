"""Where perf's samples keep their fields, worked out from the event attributes.

Order of the fields: ``perf_event_open(2)``, PERF_RECORD_SAMPLE and struct sample_id
(include/uapi/linux/perf_event.h).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foreread.analyzer.ingest.perf_header import TRACEPOINT, Attr
from foreread.analyzer.ingest.recording import TraceError
from foreread.analyzer.ingest.tables import Array

# struct perf_layout, core/perf_walk.h
PERF_LAYOUT = np.dtype(
    [
        ("wanted", "u2"),
        ("time", "u2"),
        ("cpu", "u2"),
        ("fixed_end", "u2"),
        ("read_bytes", "u2"),
        ("read_entry", "u2"),
        ("callchain", "u2"),
        ("tail_cpu", "u2"),
    ]
)

# PERF_SAMPLE_*
IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU = (1 << bit for bit in range(8))
PERIOD, STREAM_ID, RAW, IDENTIFIER = 1 << 8, 1 << 9, 1 << 10, 1 << 16
_FIXED = (IDENTIFIER, IP, TID, TIME, ADDR, ID, STREAM_ID, CPU, PERIOD)  # 8 bytes each, in order
_TAIL = (TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER)  # struct sample_id, 8 bytes each, in order
_READ_GROUP = 1 << 3  # PERF_FORMAT_GROUP
_NAMES = {TIME: ("time stamps", "-T"), CPU: ("CPU numbers", "--sample-cpu")}


@dataclass(frozen=True)
class Layouts:
    """Layouts (dtype PERF_LAYOUT) by event id; without ids the first is for all."""

    layouts: Array
    ids: Array  # u8, ascending
    id_layouts: Array  # u2
    sample_id: int  # offset of the event id in samples
    tail: dict[int, int]  # PERF_SAMPLE bit -> bytes from the end of records that are not samples


def find_layouts(attrs: Sequence[Attr]) -> Layouts:
    """Return the samples' layouts. Raises TraceError where they lack time or CPU."""
    sampled = [attr for attr in attrs if not attr.is_dummy]
    if not any(_is_wanted(attr) for attr in sampled):
        raise TraceError(
            "perf.data has no tracepoint samples with raw data",
            "record tracepoints: perf record -a -e 'filemap:*' -e 'block:*' (as root)",
        )
    rows = [_layout(attr) for attr in sampled]
    tail = _tail(next(attr for attr in sampled if _is_wanted(attr)))
    if len(set(rows)) == 1:
        return Layouts(
            np.array(rows[:1], PERF_LAYOUT), np.empty(0, "u8"), np.empty(0, "u2"), 0, tail
        )
    pairs = {i: row for row, attr in enumerate(sampled) for i in attr.ids}
    ids = sorted(pairs)
    return Layouts(
        np.array(rows, PERF_LAYOUT),
        np.array(ids, "u8"),
        np.array([pairs[i] for i in ids], "u2"),
        _id_offset(sampled),
        tail,
    )


def _is_wanted(attr: Attr) -> bool:
    return attr.type == TRACEPOINT and bool(attr.sample_type & RAW)


def _offset(sample_type: int, bit: int) -> int:
    """Offset of a fixed field from the start of a sample's header."""
    return 8 + 8 * sum(bool(sample_type & other) for other in _FIXED[: _FIXED.index(bit)])


def _layout(attr: Attr) -> tuple[int, ...]:
    kind, tail_cpu = attr.sample_type, _tail(attr).get(CPU, 0)
    if not _is_wanted(attr):
        return (0, 0, 0, 0, 0, 0, 0, tail_cpu)
    for bit, (what, option) in _NAMES.items():
        if not kind & bit:
            raise TraceError(
                f"perf.data's samples carry no {what}", f"record again with perf record {option}"
            )
    fixed_end = 8 + 8 * sum(bool(kind & bit) for bit in _FIXED)
    read_bytes, read_entry = _read_sizes(attr) if kind & READ else (0, 0)
    return (
        1,
        _offset(kind, TIME),
        _offset(kind, CPU),
        fixed_end,
        read_bytes,
        read_entry,
        int(bool(kind & CALLCHAIN)),
        tail_cpu,
    )


def _read_sizes(attr: Attr) -> tuple[int, int]:
    """Bytes of a READ field: the fixed ones, and those for each member of a group."""
    times = 8 * (attr.read_format & 3).bit_count()  # TOTAL_TIME_ENABLED, TOTAL_TIME_RUNNING
    member = 8 + 8 * (attr.read_format & (1 << 2 | 1 << 4)).bit_count()  # value, ID, LOST
    return (8 + times, member) if attr.read_format & _READ_GROUP else (times + member, 0)


def _tail(attr: Attr) -> dict[int, int]:
    if not attr.sample_id_all:
        return {}
    present = [bit for bit in _TAIL if attr.sample_type & bit]
    return {bit: 8 * (len(present) - i) for i, bit in enumerate(present)}


def _id_offset(sampled: Sequence[Attr]) -> int:
    """Where the id lies, the same in all samples (PERF_SAMPLE_IDENTIFIER sees to that)."""
    bit = IDENTIFIER if all(a.sample_type & IDENTIFIER for a in sampled) else ID
    offsets = {_offset(a.sample_type, bit) for a in sampled if a.sample_type & bit}
    if len(offsets) != 1 or not all(a.sample_type & bit and a.ids for a in sampled):
        raise TraceError(
            "perf.data mixes events whose samples cannot be distinguished",
            "record the tracepoints in a separate file",
        )
    return offsets.pop()
