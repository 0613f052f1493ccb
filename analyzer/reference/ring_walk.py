"""The ring-buffer walk in slow, plain Python: for analyzer/ingest/core/ring_walk.c.

Layout: kernel/trace/ring_buffer.c (struct buffer_data_page) and include/linux/ring_buffer.h (struct
ring_buffer_event), Linux 2.6.31 to 6.19.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

_MISSED_EVENTS, _MISSED_STORED = 1 << 31, 1 << 30
_COMMIT_MASK = (1 << 27) - 1
_PADDING, _TIME_EXTEND, _TIME_STAMP = 29, 30, 31
_TS_MSB, _TS_MSB_STEP, _U64 = 0xF8 << 56, 1 << 59, (1 << 64) - 1


class Damaged(ValueError):
    """A sub-buffer with invalid lengths."""


@dataclass(frozen=True)
class Record:
    """One event's data: ``size`` bytes at ``offset`` of the stream, its id first."""

    time_ns: int
    offset: int
    size: int


@dataclass
class Walk:
    """The content of a stream: its records, the lost events, and gaps of unknown size."""

    records: list[Record] = field(default_factory=list)
    lost: int = 0
    gaps: int = 0


def walk(
    data: bytes,
    subbuf_size: int,
    data_offset: int,
    commit_size: int,
    byte_order: Literal["little", "big"],
) -> Walk:
    """Walk the sub-buffers in ``data``; raises Damaged where ring_walk returns an error."""
    if len(data) % subbuf_size:
        raise Damaged("the last sub-buffer is cut off")
    stream = Walk()
    for start in range(0, len(data), subbuf_size):
        subbuf = data[start : start + subbuf_size]
        time_ns = int.from_bytes(subbuf[:8], byte_order)
        commit = int.from_bytes(subbuf[8 : 8 + commit_size], byte_order) & 0xFFFFFFFF
        size = commit & _COMMIT_MASK
        end = data_offset + size
        if end > subbuf_size:
            raise Damaged("more data than the sub-buffer holds")
        _count_lost(stream, commit, subbuf[end : end + commit_size], commit_size, byte_order)
        _walk_events(stream, subbuf[:end], start, data_offset, time_ns, byte_order)
    return stream


def _count_lost(
    stream: Walk, commit: int, stored: bytes, size: int, byte_order: Literal["little", "big"]
) -> None:
    if not commit & _MISSED_EVENTS:
        return
    if commit & _MISSED_STORED and len(stored) == size:
        stream.lost = (stream.lost + int.from_bytes(stored, byte_order)) & _U64
    else:
        stream.gaps += 1


def _walk_events(
    stream: Walk,
    subbuf: bytes,
    start: int,
    at: int,
    time_ns: int,
    byte_order: Literal["little", "big"],
) -> None:
    def word(offset: int) -> int:
        if offset + 4 > len(subbuf):
            raise Damaged("an event is cut off")
        return int.from_bytes(subbuf[offset : offset + 4], byte_order)

    while at < len(subbuf):
        first = word(at)
        if byte_order == "big":
            type_len, delta = first >> 27, first & ((1 << 27) - 1)
        else:
            type_len, delta = first & 31, first >> 5
        if type_len == _PADDING and delta == 0:
            return
        if type_len == _TIME_STAMP:
            stamp = delta | word(at + 4) << 27
            msb = time_ns & _TS_MSB
            late = msb and (msb | stamp) < time_ns
            time_ns = ((msb | stamp) + (_TS_MSB_STEP if late else 0)) & _U64
            at += 8
            continue
        if type_len == _TIME_EXTEND:
            time_ns = (time_ns + (delta | word(at + 4) << 27)) & _U64
            at += 8
            continue
        time_ns = (time_ns + delta) & _U64
        length = (word(at + 4) + 3) & ~3 if type_len in (0, _PADDING) else 4 * type_len
        end = at + 4 + length
        if end > len(subbuf) or (type_len == 0 and length < 4):
            raise Damaged("an event is longer than the data")
        if type_len != _PADDING:
            data_at = at + 8 if type_len == 0 else at + 4
            if end - data_at < 2:
                raise Damaged("a record without an id")
            stream.records.append(Record(time_ns, start + data_at, end - data_at))
        at = end
